public import TandemModel
import TandemWire

/// A name under which the journal is kept until what it has is acknowledged.
///
///     let consumer = try await container.consumer(named: "search index")
///     for try await transaction in consumer.transactions(follows: true) {
///         index(transaction)
///         try await consumer.acknowledge(consumer.position(transaction.position))
///     }
///
/// It outlives processes: who comes again under the name goes on behind what was acknowledged. What is kept for
/// it has the daemon's cap; beyond that it is expired: ``transactions(_:follows:)`` and ``acknowledge(_:)`` throw `historyExpired`. Then it
/// starts again from a snapshot, and is registered anew at the position of the context that fetched it, so that nothing is left out:
///
///     index(try await context.fetch(FetchRequest(entity: "Team")))
///     let again = try await container.consumer(named: "search index", at: context.position)
public struct JournalConsumer: Sendable {
    /// Its name.
    public let name: String
    /// What was acknowledged when it was registered.
    public let acknowledged: Position
    let container: PersistentContainer

    /// The transactions behind what was acknowledged when it was registered.
    public func transactions(
        _ filter: HistoryFilter = HistoryFilter(), follows: Bool = false
    ) -> HistorySequence {
        HistorySequence(container: container, start: acknowledged, filter: filter, follows: follows)
    }

    /// The position of a transaction's number.
    public func position(_ number: UInt64) -> Position { acknowledged.at(number) }

    /// Lets the journal up to a position be given up; returns what is acknowledged now.
    ///
    /// Durable with the daemon's next checkpoint, so that the last ones may come again after a power cut.
    @discardableResult
    public nonisolated(nonsending) func acknowledge(
        _ position: Position
    ) async throws -> Position {
        let request = ConsumerRequest(name: name, action: .acknowledge(position))
        return try container.acknowledged(
            await container.connection.answerAsync(.consumer(request)))
    }

    /// Removes the consumer, so that nothing is kept for it; false when there is none any more.
    @discardableResult
    public nonisolated(nonsending) func remove() async throws -> Bool {
        let request = ConsumerRequest(name: name, action: .remove)
        let answer = try await container.connection.answerAsync(.consumer(request)).get()
        guard case .consumer(let removed) = answer else {
            throw PersistentContainer.noConsumerAnswer
        }
        return removed.acknowledged != nil
    }
}

extension PersistentContainer {
    /// Registers a consumer of the journal, or finds the one of that name.
    ///
    /// A new one, or one that is expired, begins at a position: the journal's end unless another is named. Name the
    /// position of the context whose fetch it continues: the end is later if others save meanwhile. Durable on return. Throws `denied` without the role of a writer or for another user's, `limitExceeded`, `historyExpired` for a position that is no
    /// longer kept, `readOnly`, `usage` for a name that can be none.
    public nonisolated(nonsending) func consumer(
        named name: String, at position: Position? = nil
    ) async throws -> JournalConsumer {
        _ = try await connection.sessionAsync()
        let request = ConsumerRequest(name: name, action: .register(at: position))
        let start = try acknowledged(await connection.answerAsync(.consumer(request)))
        return JournalConsumer(name: name, acknowledged: start, container: self)
    }
}
