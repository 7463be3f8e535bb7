import ArgumentParser
import Tandem
import TandemIO

/// `tandem log`: prints the journal, oldest first, with journalctl's options.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Reads the journal, oldest first, as journalctl does.")

    @OptionGroup var wanted: LogMatchOptions
    @OptionGroup var range: LogRangeOptions

    @Option(
        name: [.customShort("n"), .long], parsing: .unconditional,
        help: "Last LINES, first from a cursor, or all; 10 if alone.",
        transform: LineCount.counted)
    var lines: LineCount?

    @Flag(name: .shortAndLong, help: "Keep printing new ones; -n 10 if no start is given.")
    var follow = false

    @Flag(name: .shortAndLong, help: "Newest first.")
    var reverse = false

    @Flag(name: [.customShort("e"), .long], help: "Jumps to the end of the pager; -n 1000.")
    var pagerEnd = false

    @OptionGroup var picture: LogPictureOptions

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "short[-iso], verbose, json[-pretty], csv, export, cat.", valueName: "format"),
        completion: .list(LogFormat.allCases.map(\.rawValue)), transform: LogFormat.named)
    var chosenFormat: LogFormat?

    @Option(help: ArgumentHelp("Only these keys, with commas between.", valueName: "keys"))
    var outputFields: String?

    @Flag(help: "Times in UTC.")
    var utc = false

    @Option(help: ArgumentHelp("Colours.", valueName: "when"))
    var color: ColorChoice = .auto

    @Flag(help: "No pager on a terminal (PAGER); -l: whole lines.")
    var noPager = false

    // Hidden, because the help of --no-pager mentions it.
    @Flag(
        name: [.customShort("l"), .long],
        help: ArgumentHelp("Lines are not cut to a terminal.", visibility: .hidden))
    var full = false

    @Flag(help: "Prints the last cursor at the end.")
    var showCursor = false

    @Flag(name: .shortAndLong, help: "No remarks.")
    var quiet = false

    @Option(
        name: [.customShort("F"), .long],
        help: "All values of a field of matches; -N: all fields.")
    var field: String?

    // Hidden, because the help of -F mentions it: all options have to fit on one screen.
    @Flag(
        name: [.customShort("N"), .long],
        help: ArgumentHelp("All fields of matches.", visibility: .hidden))
    var fields = false

    @Option(
        name: [.customShort("D"), .long],
        help: ArgumentHelp("Read a store's directory (TANDEM_STORE).", valueName: "dir"))
    var directory: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if follow, field != nil || fields {
            throw ValidationError("--field and --fields list what there is; they can't --follow")
        }
        if follow, reverse { throw ValidationError("--follow and --reverse exclude each other") }
        if follow, directory != nil { throw ValidationError("--follow needs a daemon, not -D") }
        if follow, range.to != nil || range.until != nil {
            throw ValidationError("--follow has no end: neither --to nor --until")
        }
        if outputFields != nil, !output.takesFields {
            throw ValidationError(
                "--output-fields goes with verbose, json, json-pretty, csv, export")
        }
        if picture.isAny { try validatePicture() }
        if wanted.isShow, wanted.matches.count != 2 {
            throw ValidationError("`log show` takes one position")
        }
    }

    private func validatePicture() throws {
        let option = picture.plot == nil ? "--stats" : "--plot"
        if follow || wanted.isShow || field != nil || fields {
            throw ValidationError(
                "\(option) goes with neither --follow, --field, --fields nor `log show`")
        }
        if outputFields != nil { throw ValidationError("\(option) takes no --output-fields") }
        let formats: [LogFormat] = picture.plot == nil ? [.short, .json, .jsonPretty] : [.short]
        guard formats.contains(output) else {
            throw ValidationError(
                "\(option) goes with -o " + formats.map(\.rawValue).joined(separator: ", "))
        }
    }

    /// The chosen format, or the default.
    var output: LogFormat { chosenFormat ?? .short }

    func run() throws {
        if fields { return MatchField.allCases.forEach { printLine($0.rawValue) } }
        let isPaged = !noPager && !follow && !wanted.isShow && field == nil
        let colors = color.isOn(StandardStream.output.descriptor)
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
        guard let outputFields else { return nil }
        let known = output == .csv ? CSVFormat.columns : LogEntry.fields
        let names = outputFields.split(separator: ",").map(String.init)
        if let other = names.first(where: { !known.contains($0) }) {
            throw CommandFailure(
                "`\(other)` is no key of \(output.rawValue); known are "
                    + known.joined(separator: ", "), code: 2)
        }
        return Set(names)
    }
}
