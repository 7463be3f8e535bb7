import ArgumentParser
import Tandem

/// `tandem consumers`: manages the named readers for which the journal is kept.
struct ConsumersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "consumers",
        abstract: "List, register, move and remove consumers.",
        discussion: """
            The journal keeps transactions that a consumer has not acknowledged, up to the cap on the journal's \
            size. Registering a consumer needs the role writer; registering, moving or removing a consumer of another \
            user needs the role admin.
            """,
        subcommands: [
            List.self, Info.self, Register.self, Acknowledge.self, Reset.self, Remove.self,
        ], defaultSubcommand: List.self)

    /// `tandem consumers list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all consumers with their positions.")

        @OptionGroup var global: GlobalOptions

        @Option(name: .shortAndLong, help: "The output format.")
        var output: OutputFormat = .short

        func run() throws {
            let consumers = try DaemonStatus(global).json["consumers"]?.array ?? []
            if output == .json { return consumers.forEach { printLine($0.text) } }
            let keys = ["acknowledged", "lag", "expired", "uid", "name"]
            let rows = consumers.map { consumer in keys.map { consumer[$0]?.shown ?? "" } }
            TextTable(headings: keys.map { $0.uppercased() }, rows: rows).lines.forEach(printLine)
        }
    }
}

/// The argument for a consumer's name.
struct ConsumerName: ParsableArguments {
    @Argument(help: "The consumer's name.")
    var name: String

    @OptionGroup var global: GlobalOptions

    /// Parses a position, which is a number or has log and epoch; returns nil if none is given.
    ///
    /// Throws if the position is after the end of the log, unless `mayBeAhead`.
    static func position(
        _ text: String?, _ container: PersistentContainer, mayBeAhead: Bool = false
    ) throws -> Position? {
        guard let text else { return nil }
        let position = Position(text)
        guard let number = position?.number ?? UInt64(text) else {
            throw CommandFailure.notAPosition(text)
        }
        let end = try container.end()
        // The daemon rejects a position of another log with its own error.
        if let position, !position.isComparable(with: end) { return position }
        if !mayBeAhead { try CommandFailure.checkReached(number, end.number) }
        return end.at(number)
    }
}
