import ArgumentParser

/// The value of `--plot`: a file to write, or the terminal.
enum PlotTarget: ExpressibleByArgument, CustomStringConvertible {
    case terminal
    case file(String)

    /// Returns nil for a match, so that `log --plot author=setup` draws the matching transactions.
    init?(argument: String) {
        guard !argument.isEmpty, !MatchField.isMatch(argument) else { return nil }
        self = argument == "-" ? .terminal : .file(argument)
    }

    /// Empty, because the help has no room for the value that is used if none is given.
    var description: String { "" }

    static let defaultCompletionKind = CompletionKind.file(extensions: ["svg"])
}
