public import TandemModel
import TandemWire

/// A named consumer of the journal, for which transactions are kept until it acknowledges them.
///
///     let consumer = try await container.consumer(named: "search index")
///     for try await transaction in consumer.transactions(follows: true) {
///         index(transaction)
///         try await consumer.acknowledge(consumer.position(transaction.position))
///     }
///
/// A consumer outlives processes: a client that registers the same name again resumes after the
/// last acknowledged position. The daemon limits the journal that it keeps for consumers. A
/// consumer that exceeds the limit is expired: ``transactions(_:follows:)`` and ``acknowledge(_:)``
/// throw `historyExpired`. It then has to fetch a snapshot and register again at the position of
/// the context that fetched it, so that no transaction is missed:
///
///     index(try await context.fetch(FetchDescriptor(entity: "Team")))
///     let again = try await container.consumer(named: "search index", at: context.position)
public struct JournalConsumer: Sendable {
    /// The consumer's name.
    public let name: String
    /// The position that was acknowledged at the time of registration.
    public let acknowledged: Position
    let container: PersistentContainer

    /// Returns the transactions after the position that was acknowledged at registration.
    public func transactions(
        _ filter: HistoryFilter = HistoryFilter(), follows: Bool = false
    ) -> HistorySequence {
        HistorySequence(container: container, start: acknowledged, filter: filter, follows: follows)
    }

    /// Returns the position with a transaction's number.
    public func position(_ number: UInt64) -> Position { acknowledged.at(number) }

    /// Acknowledges the journal up to a position; returns the acknowledged position.
    ///
    /// The acknowledgement is durable after the daemon's next checkpoint. After a power failure,
    /// the last transactions may be delivered again.
    @discardableResult
    public func acknowledge(
        _ position: Position
    ) async throws -> Position {
        let request = ConsumerRequest(name: name, action: .acknowledge(position))
        return try container.acknowledged(
            await container.connection.answerAsync(.consumer(request)))
    }

    /// Removes the consumer, so that no journal is kept for it; returns false if it did not exist.
    @discardableResult
    public func remove() async throws -> Bool {
        let request = ConsumerRequest(name: name, action: .remove)
        let answer = try await container.connection.answerAsync(.consumer(request)).get()
        guard case .consumer(let removed) = answer else {
            throw PersistentContainer.noConsumerAnswer
        }
        return removed.acknowledged != nil
    }
}
