import Tandem

/// The journal of a daemon, read in pages.
final class DaemonSource: LogSource {
    let container: PersistentContainer
    private var timeline: ModelTimeline?
    private var end: Position?
    private static let pageTransactions: UInt32 = 1_000

    init(_ container: PersistentContainer) { self.container = container }

    /// Discards the cached position and models, because a restarted daemon may have another log.
    func discardCache() { (timeline, end) = (nil, nil) }

    /// Returns the last durable position; its log and epoch are those of all other positions.
    func lastPosition() throws -> Position {
        let position = try container.end()
        end = position
        return position
    }

    func bounds() throws -> (first: UInt64, last: UInt64) {
        let last = try lastPosition().number
        return (try container.history(after: last, limit: 1).first, last)
    }

    func newestModel() throws -> CompiledModel? { try container.compiledModel() }

    func cursor(_ number: UInt64) -> Position? { end?.at(number) }

    func read(
        after floor: UInt64, through top: UInt64, _ filter: LogFilter,
        _ body: (Transaction, _ bytes: Int) throws -> Bool
    ) throws {
        let filter = try filter.request(try container.compiledModel())
        try read(
            try container.pages(
                after: floor, through: top, filter, limit: Self.pageTransactions), body)
    }

    /// Passes the transactions of pages to `body`, with their sizes, until it returns false.
    private func read(
        _ pages: HistoryPages, _ body: (Transaction, _ bytes: Int) throws -> Bool
    ) throws {
        var pages = pages
        // `body` may read the position of a log that has replaced this one.
        let start = end
        while !pages.isComplete {
            let page = try container.next(&pages, at: start?.at(pages.position))
            for encoded in page.transactions {
                guard try body(try decode(encoded), encoded.bytes.count) else { return }
            }
        }
    }

    func time(from position: UInt64) throws -> Int64? {
        try container.history(after: position - 1, limit: 1).transactions.first?.time
    }

    func throwIfDamaged() {}

    // MARK: Models

    func model(for transaction: Transaction) throws -> CompiledModel? {
        var known = try timeline ?? ModelTimeline(latest: try container.compiledModel())
        try known.record(transaction)
        if known.lacks(transaction) { try readModels(&known) }
        timeline = known
        return known.model(for: transaction)
    }

    func models(after model: CompiledModel) -> [CompiledModel] {
        timeline?.models(after: model) ?? []
    }

    func installations() throws -> [Installation] {
        let newest = try container.compiledModel()
        guard newest.version > 1 else { return [] }
        var known = timeline ?? ModelTimeline(latest: newest)
        if !known.isComplete { try readModels(&known) }
        timeline = known
        return known.installed
    }

    /// Reads all models in the journal; needed only for transactions before the last migration.
    private func readModels(_ timeline: inout ModelTimeline) throws {
        let (first, top) = try bounds()
        try read(.models(after: first - 1, through: top)) { transaction, _ in
            try timeline.record(transaction)
            return true
        }
        timeline.complete()
    }

    private func decode(_ encoded: EncodedTransaction) throws -> Transaction {
        do {
            return try encoded.decoded()
        } catch {
            throw CommandFailure("transaction \(encoded.position): \(error)")
        }
    }
}
