import ArgumentParser

/// The options of `tandem log` for the form of its output.
struct LogOutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "short[-iso], verbose, json[-pretty], csv, export, cat.", valueName: "format"),
        completion: .list(LogFormat.allCases.map(\.rawValue)), transform: LogFormat.named)
    var chosenFormat: LogFormat?

    @Option(help: ArgumentHelp("Print only these keys, separated by commas.", valueName: "keys"))
    var outputFields: String?

    @Flag(help: "Print times in UTC.")
    var utc = false

    @Option(help: ArgumentHelp("Colours.", valueName: "when"))
    var color: ColorChoice = .auto

    @Flag(help: "Use no pager (PAGER); -l: do not cut lines.")
    var noPager = false

    // Hidden, because the help of --no-pager mentions it.
    @Flag(
        name: [.customShort("l"), .long],
        help: ArgumentHelp("Do not cut lines to the terminal's width.", visibility: .hidden))
    var full = false
}
