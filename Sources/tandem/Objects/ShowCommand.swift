import ArgumentParser
import Tandem

/// `tandem show`: an object as of a position.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows an object as it is, or was at a position.",
        discussion: """
            It reads the journal back to where the object came to be. Where that is no longer kept it shows what the store \
            has, and says so.
            """)

    @Argument(help: "The object, as Team/3.")
    var object: String

    @Option(help: ArgumentHelp("As it was at this position.", valueName: "position"))
    var at: String?

    @Option(name: .shortAndLong, help: "short or json.")
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
