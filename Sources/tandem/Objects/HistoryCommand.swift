import ArgumentParser
import Tandem

/// `tandem history`: prints all changes to one object.
struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Show the changes to an object, oldest first.")

    @Argument(help: "The object, such as Team/3.")
    var object: String

    @Option(
        name: [.customShort("n"), .long], parsing: .unconditional,
        help: "The last LINES changes (default 10), or all.", transform: LineCount.parse)
    var lines: LineCount?

    @Flag(name: .shortAndLong, help: "Print the newest first.")
    var reverse = false

    @Option(name: .shortAndLong, help: ArgumentHelp("The output format.", valueName: "format"))
    var output: LogFormat = .verbose

    @OptionGroup var options: SourceOptions

    func run() throws {
        let source = options.source()
        let history = try ObjectHistory(object, source)
        let lines = LineOutput(isRaw: output.isRaw)
        defer { lines.finish() }
        var format = output.writer(options.logStyle(source))
        lines.write { format.begin(into: &$0) }
        var shown = 0
        func show(_ step: ObjectHistory.Step) -> Bool {
            shown += 1
            lines.write { format.append(step.entry, to: &$0) }
            return !lines.isClosed && shown < (reverse ? limit ?? .max : .max)
        }
        try read(history, show)
        try source.throwIfDamaged()
        if shown == 0, limit != 0 {
            throw CommandFailure("no transaction in the journal changed \(object)")
        }
    }

    private var limit: Int? { lines?.limit }

    private func read(_ history: ObjectHistory, _ show: (ObjectHistory.Step) -> Bool) throws {
        if limit == 0 { return }
        if reverse {
            try history.backwards(show)
            return
        }
        guard let limit else { return try history.forwards(show) }
        // Find the position of the first change to print.
        var (count, start) = (0, UInt64(0))
        try history.backwards { step in
            count += 1
            start = step.entry.transaction.position
            return count < limit
        }
        try history.forwards { $0.entry.transaction.position < start || show($0) }
    }
}
