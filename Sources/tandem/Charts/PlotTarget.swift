import ArgumentParser

/// The value of `--plot`: a file to write, or the terminal.
enum PlotTarget: ExpressibleByArgument, CustomStringConvertible {
    case terminal
    case file(String)

    /// Parses a path or `-`; nil for a match, so that `log --plot author=setup` draws the matching
    /// transactions.
    init?(argument: String) {
        guard !argument.isEmpty, !MatchField.isMatch(argument) else { return nil }
        self = argument == "-" ? .terminal : .file(argument)
    }

    /// Empty, so that the help does not print a default value, for which it has no room.
    var description: String { "" }

    static let defaultCompletionKind = CompletionKind.file(extensions: ["svg"])
}
