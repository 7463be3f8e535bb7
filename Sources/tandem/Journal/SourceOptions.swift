import ArgumentParser
import Tandem
import TandemIO

/// The options of verbs that read the past: the journal to read, and the style of the output.
struct SourceOptions: ParsableArguments {
    @Option(
        name: [.customShort("D"), .long],
        help: ArgumentHelp(
            "The store's directory (TANDEM_STORE), without a daemon.", valueName: "dir"))
    var directory: String?

    @Flag(help: "Print times in UTC.")
    var utc = false

    @Option(help: ArgumentHelp("Colours.", valueName: "when"))
    var color: ColorChoice = .auto

    @OptionGroup var global: GlobalOptions

    /// Returns the journal of the chosen directory or daemon.
    func source() -> any LogSource {
        if let directory = global.directory(directory) {
            return FolderSource(directory, isQuiet: true)
        }
        return DaemonSource(global.container())
    }

    /// Returns the formatting options.
    func logStyle(_ source: any LogSource) -> LogStyle {
        LogStyle(
            style: Style(isOn: color.isOn(StandardStream.output.descriptor)), isUTC: utc,
            nameOf: ObjectNames(source).name)
    }

    /// Returns the number of a position given by the user; throws ``CommandFailure`` if the journal
    /// does not contain the position.
    static func number(_ text: String, _ source: any LogSource) throws -> UInt64 {
        let (first, last) = try source.bounds()
        let number = try LogRangeOptions.number(text, source)
        try CommandFailure.checkReached(number, last)
        guard number + 1 >= first else {
            throw CommandFailure(
                TandemError.expired(number, oldest: first, remedy: "give \(first) or later"))
        }
        return number
    }
}
