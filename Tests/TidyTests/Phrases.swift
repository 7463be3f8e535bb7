/// The phrases that a reader stumbles over, each with its remedy.
enum Phrases {
    /// A position in a sentence.
    enum Place {
        case anywhere
        /// After another word.
        case inside
        /// The first words of the sentence, or the words after a semicolon or colon.
        case clause
        /// The first words of the sentence, with a capital letter.
        case start
        /// The first words of a documentation comment, with a capital letter.
        case summary
    }

    /// A row of the table.
    struct Row {
        var name: String
        var remedy: String
        var place: Place
        /// Words separated by spaces, and alternatives by bars; a final `_` stands for any further
        /// word.
        var phrases: [String]
        /// Words that excuse the phrase if they precede it.
        var notAfter: [String] = []
        /// Words that excuse the phrase if they follow it.
        var notBefore: [String] = []
    }

    static let table: [Row] = [
        Row(
            name: "what", remedy: "begin with a noun", place: .clause,
            phrases: ["what|whatever|whichever _"], notBefore: ["is this", "if"]),
        Row(
            name: "who", remedy: "begin with a noun: the client, the reader", place: .clause,
            phrases: ["who|whoever|whom|whose _"]),
        Row(
            name: "of", remedy: "begin with the subject", place: .start,
            phrases: [
                "of what|whom|who|whoever|those|them|one|a|an|each|every|these|which|such|it|other",
                "of others|several|anything|nothing", "of all that", "of the same",
            ]),
        Row(
            name: "where", remedy: "write 'if' for a condition", place: .start,
            phrases: ["where _"]),
        Row(
            name: "where", remedy: "write 'if' for a condition", place: .anywhere,
            phrases: ["nil|none|true|false|empty|nothing|zero where"]),
        Row(
            name: "free who", remedy: "name the client, reader or process", place: .anywhere,
            phrases: [
                "of|for|to|by|from|with|than|and|or|if|that who _",
                "tell|tells|told|let|lets|serve|serves|name|names|ask|asks|as who _",
            ], notBefore: ["are", "have"]),
        Row(
            name: "free who", remedy: "name the client, reader or process", place: .inside,
            phrases: ["whoever|whomever"]),
        Row(
            name: "behind", remedy: "write 'after' for an order, 'lags' for a slow reader",
            place: .anywhere, phrases: ["behind"],
            notAfter: [
                "far", "idea", "fall", "falls", "fell", "fallen", "falling", "lag", "lags",
                "lagging", "lagged", "left", "leave", "leaves", "leaving", "nothing",
            ],
            notBefore: ["the scenes", "a lock|mutex|flag|trait|proxy|protocol"]),
        Row(
            name: "stands", remedy: "write 'is', or say at which position", place: .anywhere,
            phrases: ["stand|stands|stood|standing"],
            notBefore: ["for", "in for", "out", "by", "-"]),
        Row(
            name: "nobody", remedy: "name the role: no client, no reader", place: .anywhere,
            phrases: ["nobody|somebody|anybody|everybody"]),
        Row(
            name: "anew", remedy: "write 'again' or 'from scratch'", place: .anywhere,
            phrases: ["anew"]),
        Row(
            name: "told", remedy: "write 'notify', 'report' or 'receive'", place: .anywhere,
            phrases: [
                "tell|tells|told|telling|hear|hears|heard|hearing of",
                "is|are|was|were|be|been|being told",
            ]),
        Row(
            name: "so many", remedy: "give the number, or write 'at most'", place: .anywhere,
            phrases: ["so many|much|few"], notBefore: ["as", "more", "that"]),
        Row(
            name: "so many", remedy: "give the duration", place: .anywhere,
            phrases: ["for so long"], notBefore: ["as"]),
        Row(
            name: "came of", remedy: "name the result", place: .anywhere,
            phrases: ["come|comes|came|coming|become|becomes|became|becoming of"]),
        Row(
            name: "goes on", remedy: "write 'continue' or 'resume'", place: .anywhere,
            phrases: ["go|goes|went|gone on"], notBefore: ["to"]),
        Row(
            name: "goes on", remedy: "write 'continue' or 'resume'", place: .anywhere,
            phrases: ["going on"], notAfter: ["is"], notBefore: ["to"]),
        Row(
            name: "idiom", remedy: "write the plain word: in flight, cached, release, for lack of",
            place: .anywhere,
            phrases: [
                "under way", "at hand", "let|lets|letting go of", "be it that", "for want of",
                "how far it came", "it has not got", "as ever", "in vain",
            ]),
        Row(
            name: "pronoun", remedy: "begin a summary with a noun or a verb", place: .summary,
            phrases: ["it|they|those|them|so|likewise|such", "do|does so"], notBefore: ["'"]),
        Row(
            name: "weak verb", remedy: "begin a summary with the verb of the action",
            place: .summary,
            phrases: [
                "let|lets|has|says|tells|hears _", "note|notes that|what|how|the|a|an",
                "takes note _",
            ], notBefore: ["of changes"]),
    ]

    /// Returns the rows of the table that a sentence breaks; a question breaks none.
    static func broken(by sentence: Sentence) -> [Row] {
        sentence.isQuestion ? [] : PhraseMatcher.shared.rows(in: sentence).map { table[$0] }
    }
}

/// Finds the phrases of the table in sentences.
///
/// Sentences are compared as lists of numbers, one for each word that occurs in the table: the rule
/// reads the whole tree, and comparing strings takes long in debug builds.
private struct PhraseMatcher {
    static let shared = PhraseMatcher()

    /// A word or a punctuation mark.
    private struct Token {
        /// The number of the word, or 0 for a word that no phrase has.
        var word: Int
        var isCapitalised: Bool
        var isMark: Bool
        /// Whether a space precedes it.
        var isSpaced: Bool
    }

    private struct Phrase {
        var row: Int
        var place: Phrases.Place
        /// The alternatives for each word.
        var words: [Set<Int>]
        /// Whether a further word must follow.
        var isContinued: Bool
        var notAfter: Set<Int>
        var notBefore: [[Set<Int>]]
    }

    private var numbers: [String: Int] = [:]
    /// The phrases by the number of their first word.
    private var phrases: [Int: [Phrase]] = [:]

    private init() {
        for (index, row) in Phrases.table.enumerated() {
            let notAfter = Set(row.notAfter.map { number($0) })
            let notBefore = row.notBefore.map { words($0) }
            for text in row.phrases {
                let isContinued = text.hasSuffix(" _")
                let words = words(isContinued ? String(text.dropLast(2)) : text)
                let phrase = Phrase(
                    row: index, place: row.place, words: words, isContinued: isContinued,
                    notAfter: notAfter, notBefore: notBefore)
                for first in words[0] { phrases[first, default: []].append(phrase) }
            }
        }
        // Marks at which a clause may begin.
        for mark in [";", ":"] { _ = number(mark) }
    }

    private mutating func words(_ text: String) -> [Set<Int>] {
        text.split(separator: " ").map { word in
            Set(word.split(separator: "|").map { number(String($0)) })
        }
    }

    private mutating func number(_ word: String) -> Int {
        if let number = numbers[word] { return number }
        numbers[word] = numbers.count + 1
        return numbers.count
    }

    // MARK: Matching

    /// Returns the sorted indexes of the rows with a phrase of the sentence.
    func rows(in sentence: Sentence) -> [Int] {
        let tokens = tokens(sentence.plain)
        var rows: Set<Int> = []
        for (index, token) in tokens.enumerated() where token.word != 0 {
            for phrase in phrases[token.word] ?? [] where !rows.contains(phrase.row) {
                if isAt(phrase.place, tokens, index, isSummary: sentence.isSummary)
                    && matches(phrase, tokens, index)
                {
                    rows.insert(phrase.row)
                }
            }
        }
        return rows.sorted()
    }

    private func isAt(
        _ place: Phrases.Place, _ tokens: [Token], _ index: Int, isSummary: Bool
    ) -> Bool {
        let isFirst = index == 0
        switch place {
        case .anywhere: return true
        case .inside: return !isFirst && tokens[index].isSpaced && !tokens[index - 1].isMark
        case .clause:
            let marks = [numbers[";"], numbers[":"]]
            return isFirst || (tokens[index].isSpaced && marks.contains(tokens[index - 1].word))
        case .start: return isFirst && tokens[index].isCapitalised
        case .summary: return isFirst && isSummary && tokens[index].isCapitalised
        }
    }

    private func matches(_ phrase: Phrase, _ tokens: [Token], _ index: Int) -> Bool {
        let end = index + phrase.words.count
        guard end <= tokens.count, agree(phrase.words, tokens, index) else { return false }
        if phrase.isContinued && (end == tokens.count || !tokens[end].isSpaced) { return false }
        if index > 0 && phrase.notAfter.contains(tokens[index - 1].word) { return false }
        return !phrase.notBefore.contains { agree($0, tokens, end) }
    }

    /// Returns whether the tokens from an index on have these words, with only spaces in between.
    private func agree(_ words: [Set<Int>], _ tokens: [Token], _ start: Int) -> Bool {
        guard start + words.count <= tokens.count else { return false }
        return words.enumerated().allSatisfy { offset, alternatives in
            let token = tokens[start + offset]
            return alternatives.contains(token.word) && (offset == 0 || token.isSpaced)
        }
    }

    private func tokens(_ text: ArraySlice<UInt8>) -> [Token] {
        var tokens: [Token] = []
        var index = text.startIndex
        var isSpaced = false
        while index < text.endIndex {
            let start = index
            let first = text[start]
            index += 1
            if Ascii.isSpace(first) {
                isSpaced = true
                continue
            }
            let isMark = !Ascii.isWord(first)
            if !isMark {
                while index < text.endIndex && Ascii.isWord(text[index]) { index += 1 }
            }
            let word = String(decoding: text[start..<index], as: UTF8.self).lowercased()
            tokens.append(
                Token(
                    word: numbers[word] ?? 0, isCapitalised: Ascii.isCapital(first),
                    isMark: isMark, isSpaced: isSpaced))
            isSpaced = false
        }
        return tokens
    }
}
