/// Letters as people type them to `journalctl`: `-n3`, `-fn1`, `-rgnotes`, `-n` alone.
///
/// The parser takes a value only as a word of its own, or behind `=`; here one word becomes several of that kind. Whatever is not
/// understood stays as it was, for the parser to complain of.
struct ShortOptions {
    /// The letters that stand alone, and those that a value follows.
    let flags: Set<Character>
    let valued: Set<Character>
    /// Whether `-n` may stand without its number.
    private let countsLines: Bool
    /// Whether a word can be an argument of the verb.
    private let isArgument: (String) -> Bool

    /// The letters of a verb.
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
        case "import", "export": ("h", "fio")
        case "metrics": ("h", "O")
        default: ("hy", "DEo")
        }
    }

    /// What may begin with a dash itself.
    private static let unconditional = ["-S", "--since", "-U", "--until", "--sort"]

    /// The words of a command line, without the program's name, as the parser takes them.
    static func separated(_ words: [String]) -> [String] {
        guard let verb = words.first(where: { !$0.hasPrefix("-") }) else { return words }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let options = ShortOptions(of: verb)
        return negative(options.counted(options.lettered(words[..<end]))) + words[end...]
    }

    /// The words with each number below zero joined to the option before it, which refuses it by name.
    private static func negative(_ words: [String]) -> [String] {
        words.reduce(into: []) { joined, word in
            guard word.hasPrefix("-"), Double(word) != nil, let option = joined.last,
                option.hasPrefix("--") || (option.hasPrefix("-") && option.count == 2),
                !option.contains("="), !unconditional.contains(option)
            else { return joined.append(word) }
            joined[joined.count - 1] = "\(option)=\(word)"
        }
    }

    /// Each cluster of letters as words of their own.
    private func lettered(_ words: ArraySlice<String>) -> [String] {
        words.reduce(into: []) { found, word in
            let isValue = found.last.map(Self.unconditional.contains) ?? false
            found += isValue ? [word] : letters(of: word) ?? [word]
        }
    }

    /// The letters of a word; nil for one that is no cluster, or has a letter that the verb has not.
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

    /// The words with a number behind each `-n` that has none.
    private func counted(_ words: [String]) -> [String] {
        guard countsLines else { return words }
        return words.indices.map { place in
            guard ["-n", "--lines"].contains(words[place]) else { return words[place] }
            guard place + 1 < words.endIndex, isCount(words[place + 1]) else {
                return "\(words[place])=\(LineCount.usual)"
            }
            return words[place]
        }
    }

    /// Whether a word after `-n` is its value, right or wrong, and not another argument of the verb.
    private func isCount(_ word: String) -> Bool {
        if Int(word) != nil { return true }
        return !word.hasPrefix("-") && !isArgument(word)
    }
}
