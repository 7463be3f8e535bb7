import ArgumentParser
import Tandem

/// `tandem show`: prints the state of an object at a position.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the current or an earlier state of an object.",
        discussion: """
            Reads the journal backwards to the object's insertion. If the insertion is no longer in the journal, the \
            values come from the store, and a remark is printed.
            """)

    @Argument(help: "The object, such as Team/3.")
    var object: String

    @Option(
        help: ArgumentHelp("The position to read at; the last by default.", valueName: "position"))
    var at: String?

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    @OptionGroup var options: SourceOptions

    func run() throws {
        let source = options.source()
        let state = try ObjectState(object, source, at: at)
        let lines = LineOutput()
        defer { lines.finish() }
        if output == .json {
            lines.line(state.json.text)
        } else {
            state.lines(options.logStyle(source)).forEach(lines.styledLine)
        }
        try source.throwIfDamaged()
    }
}
