import ArgumentParser

/// The value of `--plot`: a file to write, or the terminal.
enum PlotTarget: ExpressibleByArgument, CustomStringConvertible {
    case terminal
    case file(String)

    /// What looks like a match is none, so that `log --plot author=setup` draws what the match finds.
    init?(argument: String) {
        guard !argument.isEmpty, !MatchField.isMatch(argument) else { return nil }
        self = argument == "-" ? .terminal : .file(argument)
    }

    /// Nothing: the help has no room for what stands for a value that was left out.
    var description: String { "" }

    static let defaultCompletionKind = CompletionKind.file(extensions: ["svg"])
}
