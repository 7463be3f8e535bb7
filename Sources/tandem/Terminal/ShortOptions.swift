/// Short options in the forms of `journalctl`: `-n3`, `-fn1`, `-rgnotes`, `-n` alone.
///
/// The parser accepts a value only as a separate word or after `=`, so clusters of letters are
/// split into words that the parser accepts. A word that can't be split is left to the parser,
/// which rejects it.
struct ShortOptions {
    /// The letters without a value.
    let flags: Set<Character>
    /// The letters with a value.
    let valued: Set<Character>
    /// Whether `-n` may be given without a number.
    private let countsLines: Bool
    /// Returns whether a word can be an argument of the verb.
    private let isArgument: (String) -> Bool

    /// Creates the options of a verb.
    init(of verb: String) {
        let (flags, valued) = Self.letters(verb)
        self.flags = Set(flags)
        self.valued = Set(valued)
        countsLines = verb == "log" || verb == "history"
        isArgument =
            verb == "history"
            ? { $0.contains("/") } : { $0.contains("=") || ["+", "show"].contains($0) }
    }

    private static func letters(_ verb: String) -> (flags: String, valued: String) {
        switch verb {
        case "log": ("efhlNqr", "cDEFgnoOpStuU")
        case "history": ("hr", "Dno")
        case "top": ("h", "dno")
        case "fetch": ("hl", "o")
        case "import", "export": ("h", "fio")
        case "metrics": ("h", "O")
        default: ("hy", "DEo")
        }
    }

    /// The options whose values may begin with a dash.
    private static let unconditional = ["-S", "--since", "-U", "--until", "--sort"]

    /// Converts the words of a command line, without the program's name, to the parser's form.
    static func separated(_ words: [String]) -> [String] {
        guard let verb = words.first(where: { !$0.hasPrefix("-") }) else { return words }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let options = ShortOptions(of: verb)
        return negative(options.counted(options.lettered(words[..<end]))) + words[end...]
    }

    /// Joins each negative number to the option before it, so that an error names the option.
    private static func negative(_ words: [String]) -> [String] {
        words.reduce(into: []) { joined, word in
            guard word.hasPrefix("-"), Double(word) != nil, let option = joined.last,
                option.hasPrefix("--") || (option.hasPrefix("-") && option.count == 2),
                !option.contains("="), !unconditional.contains(option)
            else { return joined.append(word) }
            joined[joined.count - 1] = "\(option)=\(word)"
        }
    }

    /// Splits each cluster of letters into separate words.
    private func lettered(_ words: ArraySlice<String>) -> [String] {
        words.reduce(into: []) { found, word in
            let isValue = found.last.map(Self.unconditional.contains) ?? false
            found += isValue ? [word] : letters(of: word) ?? [word]
        }
    }

    /// Splits a word; returns nil if it is not a cluster, or has a letter that the verb lacks.
    private func letters(of word: String) -> [String]? {
        guard word.count > 2, word.hasPrefix("-"), !word.hasPrefix("--") else { return nil }
        var found: [String] = []
        var rest = word.dropFirst()
        while let letter = rest.popFirst() {
            if valued.contains(letter) {
                guard !rest.isEmpty else { return found + ["-\(letter)"] }
                return found + ["-\(letter)=\(rest.hasPrefix("=") ? rest.dropFirst() : rest)"]
            }
            guard flags.contains(letter) else { return nil }
            found.append("-\(letter)")
        }
        return found
    }

    /// Adds the default number to each `-n` without one.
    private func counted(_ words: [String]) -> [String] {
        guard countsLines else { return words }
        return words.indices.map { place in
            guard ["-n", "--lines"].contains(words[place]) else { return words[place] }
            guard place + 1 < words.endIndex, isCount(words[place + 1]) else {
                return "\(words[place])=\(LineCount.defaultCount)"
            }
            return words[place]
        }
    }

    /// Returns whether a word after `-n` is the option's value, and not an argument of the verb.
    private func isCount(_ word: String) -> Bool {
        if Int(word) != nil { return true }
        return !word.hasPrefix("-") && !isArgument(word)
    }
}
