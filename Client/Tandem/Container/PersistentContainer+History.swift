public import TandemModel
import TandemWire

/// The journal's history, and the consumers that follow it.
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

    /// Returns a page of the installations of models after a number, up to another one; blocks.
    ///
    /// Throws `historyExpired` if the journal no longer reaches back to the number.
    package func models(after number: UInt64, through end: UInt64) throws -> HistoryPage {
        let condition = HistoryCondition(isOfModels: true)
        let request = HistoryRequest(from: number, to: end, condition: condition)
        return try page(connection.answer(.history(request)))
    }

    private func page(_ answer: Result<DaemonMessage, TandemError>) throws -> HistoryPage {
        guard case .history(let answer) = try answer.get(), let session = connection.knownSession
        else { throw TandemError.unexpectedAnswer("its journal") }
        return HistoryPage(
            transactions: answer.transactions, position: session.position(answer.position),
            isComplete: answer.isComplete, first: answer.first)
    }

    /// Registers a consumer of the journal, or finds the existing one with that name.
    ///
    /// A new or expired consumer begins at `position`, or at the journal's end if it is nil. To
    /// continue a fetch, pass the position of its context: the journal's end is later if others
    /// save meanwhile. The registration is durable on return.
    ///
    /// Throws `denied` without the role writer or for another user's consumer, `limitExceeded`,
    /// `historyExpired` if the position is no longer kept, `readOnly`, and `usage` if the name is
    /// invalid.
    public func consumer(
        named name: String, at position: Position? = nil
    ) async throws -> JournalConsumer {
        _ = try await connection.sessionAsync()
        let request = ConsumerRequest(name: name, action: .register(at: position))
        let start = try acknowledged(await connection.answerAsync(.consumer(request)))
        return JournalConsumer(name: name, acknowledged: start, container: self)
    }

    /// Registers a consumer at a position, or at the end for nil; blocks until that is durable.
    ///
    /// Returns the position that the consumer has acknowledged. An existing consumer keeps its
    /// position unless it is expired.
    package func registerConsumer(_ name: String, at position: Position?) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .register(at: position)))
    }

    /// Acknowledges the journal up to a position for a consumer; blocks.
    ///
    /// Returns the acknowledged position.
    package func acknowledge(_ position: Position, asConsumer name: String) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .acknowledge(position)))
    }

    /// Moves a consumer to a position, possibly backwards, or to the end for nil.
    ///
    /// Blocks until that is durable. Returns the acknowledged position.
    package func resetConsumer(_ name: String, to position: Position?) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .reset(to: position)))
    }

    /// Removes a consumer; blocks until that is durable.
    ///
    /// Returns false if there is none.
    package func removeConsumer(_ name: String) throws -> Bool {
        try answer(to: ConsumerRequest(name: name, action: .remove)).acknowledged != nil
    }

    private func acknowledged(by request: ConsumerRequest) throws -> Position {
        try acknowledged(connection.answer(.consumer(request)))
    }

    /// Returns the acknowledged position in a consumer's answer.
    func acknowledged(_ answer: Result<DaemonMessage, TandemError>) throws -> Position {
        guard case .consumer(let answer) = try answer.get(), let number = answer.acknowledged,
            let session = connection.knownSession
        else { throw PersistentContainer.noConsumerAnswer }
        return session.position(number)
    }

    static var noConsumerAnswer: TandemError {
        TandemError.unexpectedAnswer("the consumer")
    }

    private func answer(to request: ConsumerRequest) throws -> ConsumerAnswer {
        guard case .consumer(let answer) = try connection.answer(.consumer(request)).get() else {
            throw PersistentContainer.noConsumerAnswer
        }
        return answer
    }
}

/// A page of the journal: consecutive transactions up to a position.
public struct HistoryPage: Sendable {
    /// The transactions in order.
    public var transactions: [EncodedTransaction]
    /// The position up to which the page covers the journal.
    public var position: Position
    /// Whether the page reaches the end; if false, request the next page after ``position``.
    public var isComplete: Bool
    /// The number of the oldest transaction that the journal still has.
    public var first: UInt64
}
