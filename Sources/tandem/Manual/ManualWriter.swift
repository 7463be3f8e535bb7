/// Writes text and macros of man(7), and escapes text that would be read as a macro.
struct ManualWriter {
    private(set) var text = ""

    /// Writes a macro; each of its words may contain spaces.
    mutating func macro(_ name: String, _ words: [String]) {
        let quoted = words.map { "\"\(Self.escaped($0))\"" }
        text += ([".\(name)"] + quoted).joined(separator: " ") + "\n"
    }

    /// Writes running text; words in backticks are bold.
    mutating func line(_ words: String) {
        guard !words.isEmpty else { return }
        let parts = words.split(separator: "`", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let escaped = Self.escaped(String(part))
            text += index.isMultiple(of: 2) ? escaped : "\\fB\(escaped)\\fR"
        }
        text += "\n"
    }

    /// Begins an entry of a list, whose term is `words`; the lines that follow explain the term.
    mutating func tag(_ words: String) {
        text += ".TP\n"
        text += "\\fB\(Self.escaped(words))\\fR\n"
    }

    /// Writes the words of a command line and its arguments.
    mutating func synopsis(_ words: [String], _ arguments: [ManualArgument], _ rest: String?) {
        let usages = arguments.map(\.usage) + (rest.map { [$0] } ?? [])
        text += ".PP\n\\fB\(Self.escaped(words.joined(separator: " ")))\\fR"
        text += usages.map { " " + Self.escaped($0) }.joined() + "\n"
    }

    /// Writes paragraphs of a program's help.
    ///
    /// `TITLE:` begins a subsection, and an indented line `name: …` is an entry of a list.
    mutating func paragraphs(_ words: String) {
        var isTagged = false
        var begins = true
        for line in words.split(separator: "\n", omittingEmptySubsequences: false) {
            let indented = line.hasPrefix("  ")
            if indented, let colon = line.firstRange(of: ": ") {
                tag(String(line[..<colon.lowerBound].drop { $0 == " " }))
                self.line(String(line[colon.upperBound...]))
            } else if Self.isTitle(line) {
                macro("SS", [String(line.dropLast())])
            } else if !line.isEmpty {
                if begins || isTagged { text += ".PP\n" }
                self.line(String(line))
            }
            begins = line.isEmpty
            isTagged = indented
        }
    }

    private static func isTitle(_ line: Substring) -> Bool {
        line.count > 1 && line.last == ":"
            && line.dropLast().allSatisfy { $0.isUppercase || $0 == " " }
    }

    /// Escapes backslashes, hyphens, quotes, and a character that would begin a macro.
    private static func escaped(_ words: String) -> String {
        var text = words.first == "." || words.first == "'" ? "\\&" : ""
        for character in words {
            switch character {
            case "\\": text += "\\e"
            case "-": text += "\\-"
            case "\"": text += "\\(dq"
            case "…": text += "..."
            default: text.append(character)
            }
        }
        return text
    }
}
