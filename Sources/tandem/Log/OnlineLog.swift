import Tandem
import TandemIO

/// `tandem log` from the daemon: pages of history, then, with -f, whatever comes.
final class OnlineLog {
    private let container: PersistentContainer
    private let options: LogCommand
    private var book = ModelBook()
    private static let pageTransactions: UInt32 = 1_000

    init(_ container: PersistentContainer, _ options: LogCommand) {
        self.container = container
        self.options = options
    }

    func run() throws {
        let end = try container.end()
        book = ModelBook(latest: try container.storeModel())
        var last = try first(before: end)
        let limit = options.lines ?? (options.follow ? 10 : nil)
        if let limit {
            try printLast(limit, after: last, end)
        } else if options.reverse {
            try collect(after: last, end).reversed().forEach { try self.show($0, end) }
        } else {
            try page(after: last, through: end.number) { try self.show($0, end) }
        }
        last = end.number
        guard options.follow else { return }
        while !StandardStream.output.isClosed {
            let now = try next(after: last)
            try page(after: last, through: now.number) { try self.show($0, now) }
            last = now.number
        }
    }

    /// Waits for a transaction; a wait that ends without one begins again.
    private func next(after last: UInt64) throws -> Position {
        while true {
            do {
                return try container.wait(for: last + 1, timeout: 3_600)
            } catch let error as TandemError where error.code == .timeout {
                if StandardStream.output.isClosed { return try container.end() }
            }
        }
    }

    /// The position before the first transaction that is asked for and still there.
    private func first(before end: Position) throws -> UInt64 {
        if let from = options.from { return max(from, 1) - 1 }
        let status = try JSON(parsing: try container.status())
        return UInt64(max(1, status["journalFirst"]?.int ?? 1)) - 1
    }

    private func page(
        after start: UInt64, through end: UInt64, _ body: (Transaction) throws -> Void
    ) throws {
        var last = start
        while last < end {
            let page = try container.history(
                after: last, through: end, entities: options.entity, limit: Self.pageTransactions)
            for encoded in page.transactions {
                let transaction = try decode(encoded)
                if options.wants(transaction) { try body(transaction) }
            }
            guard page.position.number > last else { return }
            last = page.position.number
        }
    }

    /// The last ones: from growing windows at the end, so that the cost is by result, not by the log's size.
    private func printLast(_ count: Int, after floor: UInt64, _ end: Position) throws {
        let stop = min(end.number, options.to ?? .max)
        var window = UInt64(max(count, 1))
        var found: [Transaction] = []
        while true {
            let start = max(floor, stop > window ? stop - window : 0)
            found = []
            try page(after: start, through: stop) { found.append($0) }
            if found.count >= count || start <= floor { break }
            window *= 4
        }
        let last = Array(found.suffix(count))
        for transaction in options.reverse ? last.reversed() : last { try show(transaction, end) }
    }

    private func collect(after start: UInt64, _ end: Position) throws -> [Transaction] {
        var found: [Transaction] = []
        try page(after: start, through: end.number) { found.append($0) }
        return found
    }

    private func decode(_ encoded: EncodedTransaction) throws -> Transaction {
        do {
            return try encoded.decoded()
        } catch {
            throw CommandFailure("transaction \(encoded.position): \(error)")
        }
    }

    private func show(_ transaction: Transaction, _ end: Position) throws {
        try note(transaction)
        if book.lacks(transaction) { try readModels(through: end.number) }
        options.print(
            transaction, end.at(transaction.position), book.model(for: transaction))
    }

    /// Reads all models in the journal; needed only for what was saved before the last migration.
    private func readModels(through end: UInt64) throws {
        let status = try JSON(parsing: try container.status())
        var last = UInt64(max(1, status["journalFirst"]?.int ?? 1)) - 1
        while last < end {
            let page = try container.history(
                after: last, through: end, limit: Self.pageTransactions)
            for encoded in page.transactions where encoded.isModel {
                try note(decode(encoded))
            }
            guard page.position.number > last else { break }
            last = page.position.number
        }
        book.complete()
    }

    private func note(_ transaction: Transaction) throws {
        do {
            try book.note(transaction)
        } catch {
            throw CommandFailure("transaction \(transaction.position): \(error)")
        }
    }
}
