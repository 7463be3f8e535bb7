/// A sentence of a comment, a page or a string literal.
struct Sentence {
    /// The kind of text that contains it.
    enum Kind { case documentation, comment, literal, page }

    var kind: Kind
    /// The number of its first line.
    var line: Int
    var text: String
    /// Its bytes, with the characters of code, links and addresses replaced by `_`.
    let plain: ArraySlice<UInt8>
    /// Whether it is the first sentence of a documentation comment.
    var isSummary: Bool

    /// A name that is a sentence, such as that of a test.
    init(name: String, line: Int) {
        self.init(
            kind: .comment, line: line, text: name, plain: Array(name.utf8)[...], isSummary: false)
    }

    fileprivate init(
        kind: Kind, line: Int, text: String, plain: ArraySlice<UInt8>, isSummary: Bool
    ) {
        self.kind = kind
        self.line = line
        self.text = text
        self.plain = plain
        self.isSummary = isSummary
    }

    var isQuestion: Bool { plain.last == UInt8(ascii: "?") }

    /// Returns the sentences of a Swift file or a Markdown page.
    ///
    /// Code blocks are left out. The cells of tables, the items of lists and the headings are
    /// paragraphs of their own; fragments of one or two words do not count as sentences.
    static func all(in file: SourceFile) -> [Sentence] {
        guard file.path.hasSuffix(".swift") else {
            return SentenceReader.read(.page, file.lines, from: 1)
        }
        return file.texts.flatMap { text -> [Sentence] in
            switch text.kind {
            case .documentation: SentenceReader.read(.documentation, text.lines, from: text.line)
            case .comment: SentenceReader.read(.comment, text.lines, from: text.line)
            case .literal where !SentenceReader.isProse(text.lines): []
            case .literal: SentenceReader.read(.literal, text.lines, from: text.line)
            }
        }
    }
}

/// Splits a text into paragraphs, and these into sentences.
private struct SentenceReader {
    private var kind: Sentence.Kind
    private var found: [Sentence] = []
    /// The bytes of the paragraph that is being read.
    private var paragraph: [UInt8] = []
    /// The first index of each of its lines, and the line's number.
    private var lineStarts: [(index: Int, line: Int)] = []

    static func read(_ kind: Sentence.Kind, _ lines: [String], from first: Int) -> [Sentence] {
        var reader = SentenceReader(kind: kind)
        var isFenced = false
        for (offset, text) in lines.enumerated() {
            var line = Array(text.utf8)[...]
            if kind != .page && kind != .literal && line.first == Ascii.space { line.removeFirst() }
            reader.add(line, number: first + offset, &isFenced)
        }
        reader.endParagraph()
        return reader.found
    }

    private init(kind: Sentence.Kind) { self.kind = kind }

    // MARK: Paragraphs

    private mutating func add(_ line: ArraySlice<UInt8>, number: Int, _ isFenced: inout Bool) {
        var rest = line.drop { Ascii.isSpace($0) }
        let isFence = rest.starts(with: "```".utf8)
        if isFence { isFenced.toggle() }
        let indent = rest.startIndex - line.startIndex
        let marker = Self.marker(rest)
        let isSample = indent >= 4 && kind != .literal && marker == 0
        guard !isFenced, !isFence, !isSample, !Self.isNoise(rest) else { return endParagraph() }
        if rest.first == Ascii.bar {
            endParagraph()
            for cell in rest.split(separator: Ascii.bar) {
                append(cell.drop { Ascii.isSpace($0) }, number)
                endParagraph()
            }
            return
        }
        if marker > 0 {
            endParagraph()
            rest = rest.dropFirst(marker).drop { Ascii.isSpace($0) }
        }
        append(Self.withoutCallout(rest), number)
    }

    private mutating func append(_ text: ArraySlice<UInt8>, _ number: Int) {
        guard !text.isEmpty else { return }
        lineStarts.append((paragraph.count, number))
        paragraph += text
        while let last = paragraph.last, Ascii.isSpace(last) { paragraph.removeLast() }
        paragraph.append(Ascii.space)
    }

    /// Returns the length of the mark of a list item, heading or quotation, or 0 if there is none.
    private static func marker(_ line: ArraySlice<UInt8>) -> Int {
        guard let first = line.first else { return 0 }
        var mark: ArraySlice<UInt8>
        if Ascii.isDigit(first) {
            mark = line.prefix { Ascii.isDigit($0) }
            guard line.dropFirst(mark.count).first == Ascii.dot else { return 0 }
            mark = line.prefix(mark.count + 1)
        } else {
            mark = line.prefix { Ascii.marks.contains($0) }
        }
        return line.dropFirst(mark.count).first == Ascii.space ? mark.count : 0
    }

    private static let noise = [
        "MARK:", "swift-format", "===", "---",
    ].map { Array($0.utf8) }

    /// Returns whether a line has no prose: a directive, a rule or no letters.
    private static func isNoise(_ line: ArraySlice<UInt8>) -> Bool {
        !line.contains { Ascii.isWord($0) } || noise.contains { line.starts(with: $0) }
    }

    private static let callouts = [
        "Parameter", "Returns", "Throws", "Note", "Important", "Warning", "Precondition",
        "Complexity",
    ].map { Array($0.utf8) }

    /// Returns a line without the name of a callout at its start, such as `Returns:`.
    private static func withoutCallout(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard callouts.contains(where: { line.starts(with: $0) }),
            let colon = line.firstIndex(of: UInt8(ascii: ":"))
        else { return line }
        return line[(colon + 1)...].drop { Ascii.isSpace($0) }
    }

    // MARK: Sentences

    private mutating func endParagraph() {
        guard !paragraph.isEmpty else { return }
        let plain = Self.withoutCode(paragraph)
        var start = 0
        for end in Self.ends(plain) + [plain.count] {
            add(plain, start..<end)
            start = end
        }
        paragraph = []
        lineStarts = []
    }

    private mutating func add(_ plain: [UInt8], _ range: Range<Int>) {
        var sentence = plain[range].drop { Ascii.leading.contains($0) }
        while let last = sentence.last, Ascii.trailing.contains(last) { sentence.removeLast() }
        guard sentence.split(separator: Ascii.space).count >= 3 else { return }
        let line = lineStarts.last { $0.index <= sentence.startIndex }?.line ?? 0
        let text = paragraph[sentence.startIndex..<sentence.endIndex]
        found.append(
            Sentence(
                kind: kind, line: line, text: String(decoding: text, as: UTF8.self),
                plain: sentence, isSummary: kind == .documentation && found.isEmpty))
    }

    /// Returns the indexes after the punctuation marks that end a sentence or a clause: a word with
    /// a capital letter, or code, follows.
    private static func ends(_ text: [UInt8]) -> [Int] {
        var ends: [Int] = []
        for index in text.indices where Ascii.clauseEnds.contains(text[index]) {
            if text[index] == Ascii.dot && isAbbreviation(text[..<index]) { continue }
            var next = index + 1
            while next < text.count && Ascii.closers.contains(text[next]) { next += 1 }
            guard next < text.count, text[next] == Ascii.space else { continue }
            while next < text.count && text[next] == Ascii.space { next += 1 }
            if next < text.count && Ascii.openers.contains(text[next]) { next += 1 }
            guard next < text.count else { continue }
            if Ascii.isCapital(text[next]) || text[next] == Ascii.backtick {
                ends.append(index + 1)
            }
        }
        return ends
    }

    private static let abbreviations = ["e.g", "i.e", "vs"].map { Array($0.utf8) }

    private static func isAbbreviation(_ text: ArraySlice<UInt8>) -> Bool {
        abbreviations.contains { text.suffix($0.count).elementsEqual($0) }
    }

    /// Returns a paragraph with the characters of code, links and addresses replaced by `_`.
    private static func withoutCode(_ text: [UInt8]) -> [UInt8] {
        var plain = text
        var index = 0
        while index < plain.count {
            let rest = text[index...]
            let end: Int
            switch plain[index] {
            case Ascii.backtick:
                let opening = rest.prefix { $0 == Ascii.backtick }.endIndex
                guard let closing = text[opening...].firstIndex(of: Ascii.backtick) else {
                    return plain
                }
                end = text[closing...].prefix { $0 == Ascii.backtick }.endIndex
            case UInt8(ascii: "h") where rest.starts(with: "http".utf8):
                let address = rest.prefix { !Ascii.isSpace($0) }
                end = address.contains(Ascii.slash) ? address.endIndex : index + 1
            case UInt8(ascii: "<") where rest.starts(with: "<doc:".utf8):
                end = (rest.firstIndex(of: UInt8(ascii: ">")) ?? index) + 1
            default: end = index + 1
            }
            if end - index > 1 {
                plain[index] = Ascii.backtick
                for inner in (index + 1)..<end { plain[inner] = UInt8(ascii: "_") }
                plain[end - 1] = Ascii.backtick
            }
            index = end
        }
        return plain
    }

    // MARK: Literals

    /// Returns whether a string literal is prose: at least four words, hardly anything else, and
    /// no code.
    static func isProse(_ lines: [String]) -> Bool {
        var (words, letters, total) = (0, 0, 0)
        for line in lines {
            let bytes = Array(line.utf8)
            total += bytes.count + 1
            if isCode(bytes) { return false }
            var index = 0
            while index < bytes.count {
                let start = index
                index += 1
                guard Ascii.isLetter(bytes[start]) else { continue }
                while index < bytes.count && Ascii.isLowercase(bytes[index]) { index += 1 }
                guard index - start > 1 else { continue }
                words += 1
                letters += index - start
            }
        }
        return words >= 4 && letters * 100 > (total - 1) * 55
    }

    private static let codeWords = [
        "SELECT ", "INSERT INTO", "CREATE ", "UPDATE ", "DELETE FROM", "PRAGMA ", "WHERE ",
    ].map { Array($0.utf8) }

    private static func isCode(_ line: [UInt8]) -> Bool {
        if let first = line.first(where: { !Ascii.isSpace($0) }), Ascii.codeOpeners.contains(first)
        {
            return true
        }
        for index in line.indices {
            let byte = line[index]
            if Ascii.codeSigns.contains(byte), index + 1 < line.count,
                Ascii.codeSigns.contains(line[index + 1])
            {
                return true
            }
            if Ascii.isCapital(byte), index + 1 < line.count, Ascii.isCapital(line[index + 1]),
                codeWords.contains(where: { line[index...].starts(with: $0) })
            {
                return true
            }
        }
        return false
    }
}

/// The bytes that are significant in prose.
enum Ascii {
    static let (space, bar, dot) = (UInt8(ascii: " "), UInt8(ascii: "|"), UInt8(ascii: "."))
    static let (backtick, slash) = (UInt8(ascii: "`"), UInt8(ascii: "/"))

    // Tables, because other sets take long in debug builds.
    static let clauseEnds = ByteSet(".!?;:")
    static let (openers, closers) = (ByteSet("\"'(["), ByteSet("\"')]"))
    static let (leading, trailing) = (ByteSet(" *\"')]"), ByteSet(" *\"'"))
    static let marks = ByteSet("-*+>#")
    static let (codeOpeners, codeSigns) = (ByteSet("{[<"), ByteSet("{}<>=\\"))

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A }
    static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
    static func isCapital(_ byte: UInt8) -> Bool { byte >= 0x41 && byte <= 0x5A }
    static func isLowercase(_ byte: UInt8) -> Bool { byte >= 0x61 && byte <= 0x7A }
    static func isLetter(_ byte: UInt8) -> Bool { isCapital(byte) || isLowercase(byte) }

    /// Returns whether a byte belongs to a word: a letter, a digit, `_`, or part of any character
    /// outside ASCII.
    static func isWord(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || byte == 0x5F || byte >= 0x80
    }
}

/// A set of ASCII characters.
struct ByteSet {
    private var table = [Bool](repeating: false, count: 256)

    init(_ characters: String) {
        for byte in characters.utf8 { table[Int(byte)] = true }
    }

    func contains(_ byte: UInt8) -> Bool { table[Int(byte)] }
}
