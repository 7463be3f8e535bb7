public import TandemModel
import TandemWire

extension PersistentContainer {
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
                throw TandemError(.unknownEntity, "there is no entity `\(name)`")
            }
            tags.formUnion(entity.descendants + [entity.tag])
        }
        return Read(objects: [], members: [], interests: tags.sorted())
    }
}
