import ArgumentParser
import Tandem

/// `tandem show`: an object as of a position.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show an object at the end or at a position.",
        discussion: """
            Reads the journal back to the object's insertion. If the journal no longer has that, the values of the \
            store are shown, with a remark.
            """)

    @Argument(help: "The object, such as Team/3.")
    var object: String

    @Option(help: ArgumentHelp("The position; the end by default.", valueName: "position"))
    var at: String?

    @Option(name: .shortAndLong, help: "The format: short or json.")
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
        try source.conclude()
    }
}
