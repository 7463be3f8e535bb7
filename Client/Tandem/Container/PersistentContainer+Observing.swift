public import TandemModel

extension PersistentContainer {
    /// A sequence of the connection's state changes from now on, including changes between writable
    /// and read-only, for one reader.
    ///
    /// The first connection is not reported. A save that a read-only daemon refuses throws
    /// `readOnly` and stays pending in its context; save again after `writable`. If a reader lags
    /// by more than 64 events, the oldest are dropped and counted in the next event
    /// (``ConnectionEvent/skipped``). The sequence ends with the container.
    public var connectionEvents: some AsyncSequence<ConnectionEvent, Never> & Sendable {
        defer { connection.listen() }
        return FeedSequence(feed: connection.payloads.events())
    }

    /// Sets the handler for connection events and model changes, and replaces the previous handler.
    ///
    /// The handler is called at the moment of the change, before any later answer is delivered. It
    /// runs on the connection's thread or on a thread that waits for an answer. It must return
    /// quickly and must not call the container.
    package func onConnectionNotice(_ handler: @escaping @Sendable (ConnectionNotice) -> Void) {
        connection.payloads.listen(handler)
        connection.listen()
    }

    /// Subscribes to entities and their subentities, or to all entities if nil; blocks.
    ///
    /// Returns the position after which every save is received.
    @discardableResult
    public func follow(_ entities: [String]? = nil) throws -> Position {
        try blocking { try await $0.follow(entities) }
    }

    /// Subscribes to entities and their subentities, or to all entities if nil.
    ///
    /// Returns the position after which every save is received.
    @discardableResult
    public func follow(_ entities: [String]? = nil) async throws -> Position {
        try await suspendingCalls.follow(entities)
    }
}
