import TandemIO
public import TandemModel
import TandemWire

/// A named reader of the journal, for which changes are kept until it acknowledges them.
///
///     let consumer = try await container.consumer(named: "search index")
///     for try await change in consumer.changes(of: Item.self) {
///         try index(change)
///         try await consumer.acknowledge(change)
///     }
///
/// A consumer outlives processes: a process that registers the same name again continues after the
/// last acknowledged position. Each change is therefore delivered at least once. See <doc:History>
/// for effects that must happen exactly once.
///
/// A consumer has one position, so it iterates over one sequence at a time: an acknowledgement
/// covers the changes of all classes. Saves without a matching change are acknowledged
/// automatically once every earlier matching save has been acknowledged.
///
/// Only one connection at a time can use a consumer, from the registration until the connection
/// ends. Any other connection that registers or acknowledges under the name gets `consumerInUse`.
///
/// The daemon limits how much of the journal it keeps for consumers. A consumer that exceeds the
/// limit is expired: iterating and ``acknowledge(_:)-(Position)`` throw `historyExpired`. It then
/// has to fetch a snapshot and register again at the position of the context that fetched it, so
/// that no change is missed:
///
///     index(try await context.fetch(Item.self))
///     let again = try await container.consumer(named: "search index", at: context.position)
public struct JournalConsumer: Sendable {
    /// The consumer's name.
    public let name: String
    private let core: ContainerCore
    private let progress: ConsumerProgress

    init(name: String, acknowledged: Position, _ core: ContainerCore) {
        (self.name, self.core) = (name, core)
        progress = ConsumerProgress(name, acknowledged, core)
    }

    /// The last acknowledged position, as of the registration or a later acknowledgement.
    public var acknowledged: Position { progress.acknowledged }

    /// Returns the changes of a class after the acknowledged position.
    ///
    ///     consumer.changes(of: Item.self, properties: [\.done], authors: ["web"])
    ///
    /// Traps if a key path is not a single `@Managed` property.
    /// - Parameters:
    ///   - type: The class; changes of its subclasses are included.
    ///   - properties: The properties; a change is included if it inserts, changes or deletes a
    ///     value of one of them; all if empty.
    ///   - authors: The authors whose saves are included; all if empty.
    ///   - follows: Whether the sequence continues with later saves instead of ending.
    /// - Returns: The changes, in the order of the journal.
    public func changes<Object: ManagedEntity>(
        of type: Object.Type, properties: [PartialKeyPath<Object>] = [], authors: [String] = [],
        follows: Bool = true
    ) -> HistoryChanges<Object> {
        changes(
            matching: HistoryFilter(type, properties: properties, authors: authors),
            follows: follows)
    }

    /// Returns the changes after the acknowledged position that match a filter by entity and
    /// property names.
    ///
    /// For tools without classes:
    ///
    ///     for try await change in consumer.changes(HistoryFilter(entities: ["Item"])) {
    ///         print(change.after?["title"] ?? .null)
    ///     }
    public func changes(
        _ filter: HistoryFilter = HistoryFilter(), follows: Bool = true
    ) -> HistoryChanges<ManagedObject> {
        changes(matching: filter, follows: follows)
    }

    /// Returns the changes that match a filter made for the class.
    package func changes<Object>(
        matching filter: HistoryFilter, follows: Bool = true
    ) -> HistoryChanges<Object> {
        HistoryChanges(
            reader: HistoryReader(
                core, filter, after: acknowledged, follows: follows, as: progress))
    }

    /// Acknowledges the saves up to the save of a change; returns the acknowledged position.
    ///
    /// Only the last change of a save in the sequence (``HistoryChange/isLastOfSave``) acknowledges
    /// the save itself, so that a restart repeats the save as a whole. Throws the errors of
    /// ``acknowledge(_:)-(Position)``. Cost: one request.
    @discardableResult
    public func acknowledge<Object>(_ change: HistoryChange<Object>) async throws -> Position {
        let number = change.position.number - (change.isLastOfSave ? 0 : 1)
        return try await acknowledge(change.position.at(number))
    }

    /// Acknowledges the journal up to a position; returns the acknowledged position.
    ///
    /// The acknowledgement is durable after the daemon's next checkpoint. After a power failure,
    /// the last changes may be delivered again.
    ///
    /// Throws `historyExpired` if the consumer is expired or the position belongs to a different
    /// log, and `usage` if the consumer was removed. Throws `consumerInUse` if another connection
    /// has registered the name since this connection was lost.
    @discardableResult
    public func acknowledge(_ position: Position) async throws -> Position {
        try await progress.acknowledge(position)
    }

    /// Removes the consumer, so that no changes are kept for it; returns false if it did not exist.
    @discardableResult
    public func remove() async throws -> Bool {
        try await ConsumerOutcome(of: name, .remove, core.connection).acknowledged != nil
    }
}

/// The acknowledged position of a consumer, as far as this process knows.
final class ConsumerProgress: Sendable {
    private let name: String
    private let core: ContainerCore
    private let state: Locked<Position>

    init(_ name: String, _ acknowledged: Position, _ core: ContainerCore) {
        (self.name, self.core) = (name, core)
        state = Locked(acknowledged)
    }

    /// The last position that the daemon has confirmed.
    var acknowledged: Position { state.withLock { $0 } }

    /// Acknowledges the journal up to a position; returns the acknowledged position.
    @discardableResult
    func acknowledge(_ position: Position) async throws(TandemError) -> Position {
        let outcome = try await ConsumerOutcome(of: name, .acknowledge(position), core.connection)
        let reached = try outcome.position()
        state.withLock { $0 = max($0, reached) }
        return reached
    }
}

/// The outcome of a request about a consumer.
struct ConsumerOutcome {
    let acknowledged: UInt64?
    fileprivate let session: ServerState?

    /// Sends a request about a consumer, and awaits its outcome.
    init(
        of name: String, _ action: ConsumerRequest.Action, _ connection: Connection
    ) async throws(TandemError) {
        let request = ConsumerRequest(name: name, action: action)
        try self.init(await connection.answerAsync(.consumer(request)), connection)
    }

    /// Interprets an answer; throws the error of a failed request.
    init(_ answer: Result<DaemonMessage, TandemError>, _ connection: Connection) throws(TandemError)
    {
        guard case .consumer(let answer) = try answer.get() else { throw Self.unexpected }
        acknowledged = answer.acknowledged
        session = connection.knownSession
    }

    /// Returns the acknowledged position of a consumer that exists.
    func position() throws(TandemError) -> Position {
        guard let acknowledged, let session else { throw Self.unexpected }
        return session.position(acknowledged)
    }

    private static var unexpected: TandemError { TandemError.unexpectedAnswer("the consumer") }
}
