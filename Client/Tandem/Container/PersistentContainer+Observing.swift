public import TandemModel
import TandemWire

/// The saves that a container hears of, in journal order.
///
/// Iterating begins with the next save. Ends by throwing `limitExceeded` when the iterator lags too far behind, and
/// `historyExpired` when saves were missed, since the log is of another epoch or does not reach back: nothing is left out silently.
public struct SaveSequence: AsyncSequence, Sendable {
    /// One element for each save.
    public typealias Element = SavePayload

    let connection: Connection
    let entity: String?
    let author: String?

    /// Hands out one payload at a time.
    public struct Iterator: AsyncIteratorProtocol {
        var base: PayloadHub.Saves.Iterator
        let entity: String?
        let author: String?

        /// The next save that passes the filter.
        public mutating func next() async throws -> SavePayload? {
            while let payload = try await base.next() {
                if passes(payload) { return payload }
            }
            return nil
        }

        private func passes(_ payload: SavePayload) -> Bool {
            if let author, payload.author != author { return false }
            guard let entity else { return true }
            return payload.inserted.contains { $0.entity == entity }
                || payload.updated.contains { $0.object.entity == entity }
                || payload.deleted.contains { $0.entity == entity }
        }
    }

    /// Begins to listen.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            base: connection.payloads.saves().makeAsyncIterator(), entity: entity, author: author)
    }
}

extension PersistentContainer {
    /// The saves of all processes, this one's included, as far as this process follows their entities.
    ///
    /// A process follows the entities that it has read. To hear of others, call ``follow(_:)`` first.
    public var didSave: SaveSequence { saves() }

    /// The saves that touch objects of an entity, or that an author made.
    public func saves(of entity: String? = nil, by author: String? = nil) -> SaveSequence {
        SaveSequence(connection: connection, entity: entity, author: author)
    }

    /// What becomes of the connection after it was made for the first time, and whether the daemon takes saves, from now on.
    ///
    /// A save that a read-only daemon refuses throws `readOnly` and stays pending in its context: save again after `writable`.
    public var connectionEvents: ConnectionEvents {
        defer { connection.listen() }
        return connection.payloads.events()
    }

    /// Tells of connection and model the moment they change, before any answer that came after; replaces who was told before.
    ///
    /// The handler is called on the connection's thread or on one that waits for an answer: it must be quick and ask nothing of
    /// the container.
    public func onConnectionNotice(_ handler: @escaping @Sendable (ConnectionNotice) -> Void) {
        connection.payloads.listen(handler)
        connection.listen()
    }

    /// Follows entities, subentities included; all if nil; blocks.
    ///
    /// Returns the position from which on every save is heard of.
    @discardableResult
    public func follow(_ entities: [String]? = nil) throws -> Position {
        let session = try connection.session()
        let read = try Self.following(entities, session)
        return try position(connection.answer(.read(read)).get())
    }

    /// Follows entities, subentities included; all if nil.
    ///
    /// Returns the position from which on every save is heard of.
    @discardableResult
    public nonisolated(nonsending) func follow(_ entities: [String]? = nil) async throws -> Position
    {
        let session = try await connection.sessionAsync()
        let read = try Self.following(entities, session)
        return try position(await connection.answerAsync(.read(read)).get())
    }

    private func position(_ answer: DaemonMessage) throws -> Position {
        guard case .objects(let objects) = answer else {
            throw TandemError(.storage, "the daemon did not answer a read")
        }
        return try connection.session().position(objects.position)
    }

    static func following(_ entities: [String]?, _ session: Session) throws(TandemError) -> Read {
        var tags: Set<EntityTag> = []
        for name in entities ?? session.model.entities.map(\.name) {
            guard let entity = session.model.entity(named: name) else {
                throw TandemError(.unknownEntity, "no entity is named \(name)")
            }
            tags.formUnion(entity.descendants + [entity.tag])
        }
        return Read(objects: [], members: [], interests: tags.sorted())
    }
}
