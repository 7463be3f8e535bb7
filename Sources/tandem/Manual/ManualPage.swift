import Tandem

/// A manual page in the macros of man(7), created from a help dump of swift-argument-parser.
///
/// The page contains only text of the program's help, so that the two never differ.
struct ManualPage {
    private var writer = ManualWriter()

    /// The page's source.
    var text: String { writer.text }

    /// Creates the page of a program with all its verbs.
    init(_ program: JSON, section: Int, see: [String]) {
        let name = program["commandName"]?.string ?? ""
        writer.macro("TH", [name.uppercased(), String(section), "", "Tandem", "Tandem"])
        writer.macro("SH", ["NAME"])
        writer.line("\(name) - \(Self.sentence(program["abstract"]?.string ?? ""))")
        writer.macro("SH", ["SYNOPSIS"])
        let verbs = Self.shown(program["subcommands"]).filter {
            $0["commandName"] != .string("help")
        }
        writer.synopsis([name], arguments(of: program), verbs.isEmpty ? nil : "VERB …")
        writer.macro("SH", ["DESCRIPTION"])
        writer.paragraphs(program["discussion"]?.string ?? "")
        writer.macro("SH", ["OPTIONS"])
        options(of: program)
        if !verbs.isEmpty { writer.macro("SH", ["VERBS"]) }
        for verb in verbs { add(verb, [name]) }
        guard !see.isEmpty else { return }
        writer.macro("SH", ["SEE ALSO"])
        writer.line(see.joined(separator: ", "))
    }

    private mutating func add(_ verb: JSON, _ parents: [String]) {
        let words = parents + [verb["commandName"]?.string ?? ""]
        writer.macro("SS", [words.joined(separator: " ")])
        let verbs = Self.shown(verb["subcommands"])
        writer.synopsis(words, arguments(of: verb), verbs.isEmpty ? nil : "VERB …")
        writer.paragraphs(verb["abstract"]?.string ?? "")
        writer.paragraphs(verb["discussion"]?.string ?? "")
        options(of: verb)
        for inner in verbs { add(inner, words) }
    }

    private mutating func options(of command: JSON) {
        for argument in arguments(of: command) {
            writer.tag(argument.spellings.joined(separator: ", "))
            writer.line(argument.summary)
        }
    }

    private func arguments(of command: JSON) -> [ManualArgument] {
        Self.shown(command["arguments"]).map(ManualArgument.init)
    }

    private static func shown(_ list: JSON?) -> [JSON] {
        (list?.array ?? []).filter { $0["shouldDisplay"] != .bool(false) }
    }

    /// Returns a sentence without its initial capital and full stop, as is usual in section NAME.
    private static func sentence(_ text: String) -> String {
        let words = text.hasSuffix(".") ? text.dropLast() : text[...]
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

/// An argument of a program or verb: an option, a flag, or a positional argument.
struct ManualArgument {
    /// All spellings of the argument.
    let spellings: [String]
    /// The argument in a synopsis, in brackets if it is optional.
    let usage: String
    /// The argument's help text.
    let summary: String

    init(_ argument: JSON) {
        let kind = argument["kind"]?.string
        let value = "<\(argument["valueName"]?.string ?? "value")>"
        let names = (argument["names"]?.array ?? []).map { name in
            (name["kind"] == .string("long") ? "--" : "-") + (name["name"]?.string ?? "")
        }
        spellings =
            kind == "positional"
            ? [value] : kind == "flag" ? names : names.map { "\($0) \(value)" }
        let word = spellings.last ?? value
        let isOptional = argument["isOptional"] == .bool(true)
        let dots = argument["isRepeating"] == .bool(true) ? " …" : ""
        usage = (isOptional ? "[\(word)]" : word) + dots
        var text = argument["abstract"]?.string ?? ""
        let values = (argument["allValues"]?.array ?? []).compactMap(\.string)
        let choice = values.isEmpty ? [] : ["one of " + values.joined(separator: ", ")]
        let given = argument["defaultValue"]?.string.map { ["default: \($0)"] } ?? []
        let notes = (choice + given).joined(separator: "; ")
        if !notes.isEmpty { text += " (\(notes))" }
        summary = text
    }
}
