import ArgumentParser
import Tandem
import TandemIO

/// `tandem log`: the journal, oldest first, with journalctl's letters.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Reads the journal.",
        discussion:
            "With -D it reads the directory of a store, without a daemon and also when damaged.")

    @OptionGroup var global: GlobalOptions

    @Option(name: [.customShort("n"), .long], help: "The last LINES transactions only.")
    var lines: Int?

    @Flag(
        name: .shortAndLong, help: "Goes on with new transactions as they come; -n 10 unless given."
    )
    var follow = false

    @Flag(name: .shortAndLong, help: "Newest first.")
    var reverse = false

    @Option(name: .shortAndLong, help: "short, verbose or json.")
    var output: OutputFormat = .short

    @Option(
        name: [.customShort("E"), .long], help: "Only changes of this entity and its subentities.")
    var entity: [String] = []

    @Option(name: [.customShort("t"), .long], help: "Only transactions of this author.")
    var author: String?

    @Option(help: "From this position on.")
    var from: UInt64?

    @Option(help: "Up to this position.")
    var to: UInt64?

    @Option(
        name: [.customShort("D"), .long],
        help: "Reads the store in this directory instead of asking a daemon.")
    var directory: String?

    @Flag(help: "Accepted for those who type it out of habit; output is never paged.")
    var noPager = false

    func validate() throws {
        if follow, reverse { throw ValidationError("--follow and --reverse exclude each other") }
        if follow, directory != nil { throw ValidationError("--follow needs a daemon, not -D") }
        if let lines, lines < 0 { throw ValidationError("-n needs a number that is not negative") }
    }

    func run() throws {
        if let directory { return try OfflineLog(directory, self).run() }
        try OnlineLog(global.container(isPatient: follow), self).run()
    }

    /// Whether a transaction is asked for.
    func wants(_ transaction: Transaction) -> Bool {
        (author == nil || transaction.principal.author == author)
            && transaction.position >= from ?? 0 && transaction.position <= to ?? .max
    }

    func print(_ transaction: Transaction, _ cursor: Position?, _ model: CompiledModel?) {
        let writer = TransactionWriter(transaction: transaction, cursor: cursor, model: model)
        switch output {
        case .short: printLine(writer.short)
        case .verbose: writer.verbose.forEach(printLine)
        case .json: printLine(writer.json.text)
        }
    }
}
