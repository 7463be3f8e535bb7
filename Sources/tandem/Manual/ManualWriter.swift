/// Writes lines and the macros of man(7), so that no text is taken for a macro.
struct ManualWriter {
    private(set) var text = ""

    /// A macro with its words, each as one however many it has.
    mutating func macro(_ name: String, _ words: [String]) {
        let quoted = words.map { "\"\(Self.escaped($0))\"" }
        text += ([".\(name)"] + quoted).joined(separator: " ") + "\n"
    }

    /// Words of running text; what stands in backticks is bold.
    mutating func line(_ words: String) {
        guard !words.isEmpty else { return }
        let parts = words.split(separator: "`", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let escaped = Self.escaped(String(part))
            text += index.isMultiple(of: 2) ? escaped : "\\fB\(escaped)\\fR"
        }
        text += "\n"
    }

    /// What the lines behind it explain.
    mutating func tag(_ words: String) {
        text += ".TP\n"
        text += "\\fB\(Self.escaped(words))\\fR\n"
    }

    /// The words of a call, and what they take.
    mutating func synopsis(_ words: [String], _ arguments: [ManualArgument], _ rest: String?) {
        let usages = arguments.map(\.usage) + (rest.map { [$0] } ?? [])
        text += ".PP\n\\fB\(Self.escaped(words.joined(separator: " ")))\\fR"
        text += usages.map { " " + Self.escaped($0) }.joined() + "\n"
    }

    /// Paragraphs as in a program's help: `TITLE:` begins a part, an indented line `name: …` explains a name.
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

    /// Backslashes, hyphens that are no dashes, quotes of a macro, and what would begin a macro.
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
