public import TandemModel
import TandemWire

/// A stretch of the journal.
public struct HistoryPage: Sendable {
    /// The transactions in order.
    public var transactions: [EncodedTransaction]
    /// Everything up to here is covered.
    public var position: Position
    /// False when there is more: ask again after ``position``.
    public var isComplete: Bool
}

/// Reading the journal; all calls block.
extension PersistentContainer {
    /// The last durable position.
    public func end() throws -> Position { try wait(for: 0, timeout: 10) }

    /// Waits until the journal has a transaction of this number; returns the last durable position.
    ///
    /// Throws `timeout` when that takes longer than `timeout` seconds.
    @discardableResult
    public func wait(for number: UInt64, timeout: Double) throws -> Position {
        let milliseconds = UInt32(clamping: Int64(max(0, min(timeout, 4_000_000)) * 1_000))
        let sync = Sync(number: number, timeoutMilliseconds: milliseconds)
        guard case .synced(let position) = try connection.answer(.sync(sync)).get() else {
            throw TandemError(.storage, "the daemon did not answer about its position")
        }
        return try connection.session().position(position)
    }

    /// Transactions after a number, at most `limit` of them.
    ///
    /// - Parameters:
    ///   - number: The last transaction that is not wanted; 0 begins with the first.
    ///   - end: The last one that is wanted; 0 is the end of the journal.
    ///   - entities: Only what happened to objects of these, subentities included; all if empty.
    ///   - limit: At most this many.
    /// - Returns: The transactions, and how far they reach.
    /// - Throws: `historyExpired` when the journal no longer reaches back to `number`, `unknownEntity`.
    public func history(
        after number: UInt64, through end: UInt64 = 0, entities: [String] = [],
        limit: UInt32 = 1_000
    ) throws -> HistoryPage {
        var filter = HistoryFilter()
        filter.entities = entities
        return try history(after: number, through: end, filter, limit: limit)
    }

    /// Transactions after a number, up to another one or the end for 0, that meet a filter; blocks.
    ///
    /// Throws `historyExpired` when the journal no longer reaches back to `number`, `unknownEntity`, `unknownProperty`.
    public func history(
        after number: UInt64, through end: UInt64 = 0, _ filter: HistoryFilter,
        limit: UInt32 = 1_000
    ) throws -> HistoryPage {
        let session = try connection.session()
        let request = try filter.request(
            after: number, through: end, limit: limit, session.model)
        return try page(connection.answer(.history(request)))
    }

    /// Transactions after a position that meet a filter; some of them, and how far they reach.
    ///
    /// Throws `historyExpired` when the journal no longer reaches back to the position, or it is of another log or epoch;
    /// `unknownEntity`, `unknownProperty`.
    public nonisolated(nonsending) func history(
        after position: Position, _ filter: HistoryFilter, limit: UInt32 = 1_000
    ) async throws -> HistoryPage {
        let session = try await connection.sessionAsync()
        guard position.isComparable(with: session.position(0)) else {
            throw TandemError(
                .historyExpired, "\(position) is of another log or epoch than this store's")
        }
        let request = try filter.request(
            after: position.number, through: 0, limit: limit, session.model)
        return try page(await connection.answerAsync(.history(request)))
    }

    /// The transactions after a position that meet a filter, in order; with `follows` those to come as well.
    public func transactions(
        after position: Position, _ filter: HistoryFilter = HistoryFilter(), follows: Bool = false
    ) -> HistorySequence {
        HistorySequence(container: self, start: position, filter: filter, follows: follows)
    }

    private func page(_ answer: Result<DaemonMessage, TandemError>) throws -> HistoryPage {
        guard case .history(let answer) = try answer.get(), let session = connection.knownSession
        else { throw TandemError(.storage, "the daemon did not answer about its journal") }
        return HistoryPage(
            transactions: answer.transactions, position: session.position(answer.position),
            isComplete: answer.isComplete)
    }
}
