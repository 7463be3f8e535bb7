public import TandemModel
import TandemWire

/// A page of the journal: consecutive transactions up to a position.
public struct HistoryPage: Sendable {
    /// The transactions in order.
    public var transactions: [EncodedTransaction]
    /// The position up to which the page covers the journal.
    public var position: Position
    /// Whether the page reaches the end; if false, request the next page after ``position``.
    public var isComplete: Bool
}

/// Reading the journal; the calls block unless they are async.
extension PersistentContainer {
    /// The last durable position.
    public func end() throws -> Position { try wait(for: 0, timeout: 10) }

    /// Waits until the journal has the transaction with this number; returns the last durable
    /// position.
    ///
    /// Throws `timeout` if that takes longer than `timeout` seconds.
    @discardableResult
    public func wait(for number: UInt64, timeout: Double) throws -> Position {
        let milliseconds = UInt32(clamping: Int64(max(0, min(timeout, 4_000_000)) * 1_000))
        let sync = Sync(number: number, timeoutMilliseconds: milliseconds)
        guard case .synced(let position) = try connection.answer(.sync(sync)).get() else {
            throw TandemError.unexpectedAnswer("its position")
        }
        return try connection.session().position(position)
    }

    /// Returns the transactions after a number, at most `limit` of them.
    ///
    /// - Parameters:
    ///   - number: The transaction before the first one to return; 0 begins with the first.
    ///   - end: The last transaction to return; 0 is the end of the journal.
    ///   - entities: The entities whose changes are included, with their subentities; all if empty.
    ///   - limit: The maximum number of transactions.
    /// - Returns: The transactions, and the position up to which they reach.
    /// - Throws: `historyExpired` if the journal no longer reaches back to `number`,
    ///   `unknownEntity`.
    public func history(
        after number: UInt64, through end: UInt64 = 0, entities: [String] = [],
        limit: UInt32 = 1_000
    ) throws -> HistoryPage {
        var filter = HistoryFilter()
        filter.entities = entities
        return try history(after: number, through: end, filter, limit: limit)
    }

    /// Returns the transactions after a number that match a filter; blocks.
    ///
    /// `end` is the last transaction to return; 0 is the end of the journal. Throws
    /// `historyExpired` if the journal no longer reaches back to `number`, `unknownEntity`, and
    /// `unknownProperty`.
    public func history(
        after number: UInt64, through end: UInt64 = 0, _ filter: HistoryFilter,
        limit: UInt32 = 1_000
    ) throws -> HistoryPage {
        let session = try connection.session()
        let request = try filter.request(
            after: number, through: end, limit: limit, session.model)
        return try page(connection.answer(.history(request)))
    }

    /// Returns a page of the transactions after a position that match a filter.
    ///
    /// Throws `historyExpired` if the journal no longer reaches back to the position, or if the
    /// position is of another log or epoch. Also throws `unknownEntity` and `unknownProperty`.
    public func history(
        after position: Position, _ filter: HistoryFilter, limit: UInt32 = 1_000
    ) async throws -> HistoryPage {
        let session = try await connection.sessionAsync()
        guard position.isComparable(with: session.position(0)) else {
            throw TandemError.foreign(position)
        }
        let request = try filter.request(
            after: position.number, through: 0, limit: limit, session.model)
        return try page(await connection.answerAsync(.history(request)))
    }

    /// Returns the transactions after a position that match a filter, in order.
    ///
    /// With `follows`, the sequence continues with new transactions.
    public func transactions(
        after position: Position, _ filter: HistoryFilter = HistoryFilter(), follows: Bool = false
    ) -> HistorySequence {
        HistorySequence(container: self, start: position, filter: filter, follows: follows)
    }

    private func page(_ answer: Result<DaemonMessage, TandemError>) throws -> HistoryPage {
        guard case .history(let answer) = try answer.get(), let session = connection.knownSession
        else { throw TandemError.unexpectedAnswer("its journal") }
        return HistoryPage(
            transactions: answer.transactions, position: session.position(answer.position),
            isComplete: answer.isComplete)
    }
}
