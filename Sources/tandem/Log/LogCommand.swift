import ArgumentParser
import Tandem
import TandemIO

/// `tandem log`: prints the journal, oldest first, with journalctl's options.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Read the journal, oldest first, as journalctl does.")

    @OptionGroup var wanted: LogMatchOptions
    @OptionGroup var range: LogRangeOptions

    @Option(
        name: [.customShort("n"), .long], parsing: .unconditional,
        help: "Last LINES (10) or all; the first after a cursor.",
        transform: LineCount.parse)
    var lines: LineCount?

    @Flag(
        name: .shortAndLong,
        help: "Keep printing; implies -n 10 if no start is given.")
    var follow = false

    @Flag(name: .shortAndLong, help: "Print the newest first.")
    var reverse = false

    @Flag(
        name: [.customShort("e"), .long],
        help: "Jump to the end of the pager; implies -n 1000.")
    var pagerEnd = false

    @OptionGroup var chart: LogChartOptions

    @OptionGroup var printing: LogOutputOptions

    @Flag(help: "Print the last cursor at the end.")
    var showCursor = false

    @Flag(name: .shortAndLong, help: "Print no remarks.")
    var quiet = false

    @Option(
        name: [.customShort("F"), .long],
        help: "Print all values of a match field; -N: all fields.")
    var field: String?

    // Hidden, because the help of -F mentions it, and the help has to fit on one screen.
    @Flag(
        name: [.customShort("N"), .long],
        help: ArgumentHelp("Print all match fields.", visibility: .hidden))
    var fields = false

    @Option(
        name: [.customShort("D"), .long],
        help: ArgumentHelp("The store's directory (TANDEM_STORE).", valueName: "dir"))
    var directory: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if follow, field != nil || fields {
            throw ValidationError("--follow cannot be combined with --field or --fields")
        }
        if follow, reverse { throw ValidationError("--follow and --reverse cannot be combined") }
        if follow, directory != nil { throw ValidationError("--follow needs a daemon, not -D") }
        if follow, range.to != nil || range.until != nil {
            throw ValidationError("--follow cannot be combined with --to or --until")
        }
        if printing.outputFields != nil, !output.takesFields {
            throw ValidationError(
                "--output-fields needs -o verbose, json, json-pretty, csv or export")
        }
        if chart.isAny { try validateChart() }
        if wanted.isShow, wanted.matches.count != 2 {
            throw ValidationError("`log show` needs exactly one position")
        }
    }

    private func validateChart() throws {
        let option = chart.plot == nil ? "--stats" : "--plot"
        if follow || wanted.isShow || field != nil || fields {
            throw ValidationError(
                "\(option) cannot be combined with --follow, --field, --fields or `log show`")
        }
        if printing.outputFields != nil {
            throw ValidationError("\(option) cannot be combined with --output-fields")
        }
        let formats: [LogFormat] = chart.plot == nil ? [.short, .json, .jsonPretty] : [.short]
        guard formats.contains(output) else {
            throw ValidationError(
                "\(option) needs -o " + formats.map(\.rawValue).joined(separator: " or "))
        }
    }

    /// The chosen format, or the default.
    var output: LogFormat { printing.chosenFormat ?? .short }

    func run() throws {
        if fields { return MatchField.allCases.forEach { printLine($0.rawValue) } }
        let isPaged = !printing.noPager && !follow && !wanted.isShow && field == nil
        let colors = printing.color.isOn(StandardStream.output.descriptor)
        let output = LineOutput(
            flushesLines: follow, pager: isPaged ? PagerChoice.command(toEnd: pagerEnd) : nil,
            isRaw: self.output.isRaw)
        defer { output.finish() }
        try LogRun(self, output, Style(isOn: colors)).run()
    }

    /// Returns the source of the transactions.
    func source() -> any LogSource {
        if !follow, let directory = global.directory(directory) {
            return FolderSource(directory, isQuiet: quiet)
        }
        return DaemonSource(global.container(isPatient: follow))
    }

    /// Returns the keys to print, or nil for all; throws if a key is unknown.
    func shownFields() throws -> Set<String>? {
        guard let outputFields = printing.outputFields else { return nil }
        let known = output == .csv ? CSVFormat.columns : LogEntry.fields
        let names = outputFields.split(separator: ",").map(String.init)
        if let other = names.first(where: { !known.contains($0) }) {
            throw CommandFailure(
                "`\(other)` is not a key of the format \(output.rawValue); the keys are "
                    + known.joined(separator: ", "), code: 2)
        }
        return Set(names)
    }
}
