public import TandemModel
package import TandemWire

/// The journal's history, and the consumers that follow it.
extension PersistentContainer {
    // MARK: Positions

    /// Returns the last durable position; blocks.
    ///
    /// Throws `disconnected` or `timeout` if the daemon can't be reached.
    public func end() throws -> Position { try wait(forNumber: 0, timeout: 10) }

    /// Returns the last durable position.
    public func end() async throws -> Position {
        try await suspendingCalls.wait(for: 0, timeout: 10)
    }

    /// Waits for the journal to reach a position, and returns the last durable position; blocks.
    ///
    ///     let position = try Position(argument) ?? container.end()
    ///     try container.wait(for: position, timeout: 10)
    ///
    /// Throws `timeout` if that takes longer than `timeout` seconds, and `historyExpired` if the
    /// position is in a different log or epoch.
    @discardableResult
    public func wait(for position: Position, timeout: Double) throws -> Position {
        let sync = Sync(number: position.number, seconds: timeout)
        return try synced(connection.answer(.sync(sync), at: position), at: position)
    }

    /// Waits for the journal to reach a position, and returns the last durable position.
    ///
    /// Throws `timeout` if that takes longer than `timeout` seconds, `historyExpired` if the
    /// position is in a different log or epoch, and `CancellationError` if the task is cancelled.
    @discardableResult
    public func wait(for position: Position, timeout: Double) async throws -> Position {
        let sync = Sync(number: position.number, seconds: timeout)
        let answer = await connection.answerUnlessCancelled(.sync(sync), at: position)
        if case .failure(let error) = answer, error.code == .cancelled { throw CancellationError() }
        return try synced(answer, at: position)
    }

    /// Waits until the journal has the transaction with a number, and returns the last durable
    /// position; blocks.
    @discardableResult
    package func wait(forNumber number: UInt64, timeout: Double) throws -> Position {
        try blocking { try await $0.wait(for: number, timeout: timeout) }
    }

    private func synced(
        _ answer: Result<DaemonMessage, TandemError>, at position: Position
    ) throws -> Position {
        guard case .synced(let number) = try answer.get() else {
            throw TandemError.unexpectedAnswer("its position")
        }
        return position.at(number)
    }

    // MARK: Changes

    /// Returns the changes to a class's objects after a position, by current property names.
    ///
    ///     for try await change in container.changes(of: Item.self, after: position) {
    ///         print(change.kind, change.id, change.after?[\.title] ?? "-")
    ///     }
    ///
    /// A service that continues where its last run ended uses ``consumer(named:at:)``. Traps if a
    /// key path is not a single `@Managed` property. For errors and cost, see ``HistoryChanges``.
    /// - Parameters:
    ///   - type: The class; changes to objects of its subclasses are included.
    ///   - position: The position after which changes are returned.
    ///   - properties: The properties; a change is included if it inserts, updates or deletes a
    ///     value of one of them; all if empty.
    ///   - authors: The authors whose saves are included; all if empty.
    ///   - follows: Whether the sequence continues with later saves instead of ending.
    /// - Returns: The changes, in the order of the journal.
    public func changes<Object: ManagedEntity>(
        of type: Object.Type, after position: Position,
        properties: [PartialKeyPath<Object>] = [], authors: [String] = [], follows: Bool = false
    ) -> HistoryChanges<Object> {
        changes(
            HistoryFilter(type, properties: properties, authors: authors), after: position, follows)
    }

    /// Returns the changes after a position that match a filter by entity and property names.
    ///
    /// For tools without classes:
    ///
    ///     let filter = HistoryFilter(entities: ["Item"])
    ///     for try await change in container.changes(filter, after: position) {
    ///         print(change.after?["title"] ?? .null)
    ///     }
    ///
    /// For errors and cost, see ``HistoryChanges``.
    public func changes(
        _ filter: HistoryFilter = HistoryFilter(), after position: Position, follows: Bool = false
    ) -> HistoryChanges<ManagedObject> { changes(filter, after: position, follows) }

    private func changes<Object>(
        _ filter: HistoryFilter, after position: Position, _ follows: Bool
    ) -> HistoryChanges<Object> {
        HistoryChanges(
            reader: HistoryReader(core, filter, after: position, follows: follows))
    }

    // MARK: Transactions

    /// Returns the pages of the transactions after a number that match a filter; blocks.
    ///
    /// `end` is the last transaction to return; 0 is the end of the journal. Throws
    /// `unknownEntity`, `unknownProperty` and `limitExceeded`, and the errors of a connection.
    package func pages(
        after number: UInt64, through end: UInt64 = 0, _ filter: HistoryFilter = HistoryFilter(),
        limit: UInt32 = 1_000
    ) throws -> HistoryPages {
        let model = try connection.session().model
        return HistoryPages(
            try filter.request(after: number, through: end, limit: limit, model))
    }

    /// Returns the next of `pages`; blocks.
    ///
    /// Throws `historyExpired` if the journal no longer has the next transaction, or if the daemon
    /// has a different log or epoch than `position`.
    package func next(
        _ pages: inout HistoryPages, at position: Position? = nil
    ) throws(TandemError) -> History {
        try pages.accept(connection.answer(.history(pages.request), at: position))
    }

    /// Returns the first transactions after a number, and how far they reach; blocks.
    ///
    /// Throws `historyExpired` if the journal no longer has the next transaction.
    package func history(after number: UInt64, limit: UInt32 = 1_000) throws -> History {
        var pages = try pages(after: number, limit: limit)
        return try next(&pages)
    }

    // MARK: Consumers

    /// Registers a consumer of the journal, or returns the existing consumer with that name.
    ///
    ///     let consumer = try await container.consumer(named: "mailer")
    ///
    /// A new or expired consumer begins at `position`, or at the journal's end if it is nil. To
    /// continue a fetch, pass the position of its context: the journal's end is later if others
    /// save meanwhile. The registration is durable on return.
    ///
    /// The connection of this container then holds the name until the connection ends.
    ///
    /// Throws `consumerInUse` if another connection holds the name, and `denied` without the role
    /// writer or for another user's consumer. Throws `historyExpired` if the journal no longer has
    /// the position, `usage` if the name is invalid, `limitExceeded` and `readOnly`.
    public func consumer(
        named name: String, at position: Position? = nil
    ) async throws -> JournalConsumer {
        _ = try await connection.sessionAsync()
        let outcome = try await ConsumerOutcome(of: name, .register(at: position), connection)
        return JournalConsumer(name: name, acknowledged: try outcome.position(), core)
    }

    /// Registers a consumer at a position, or at the end if nil; blocks until that is durable.
    ///
    /// Returns the position that the consumer has acknowledged. An existing consumer keeps its
    /// position unless it is expired.
    package func registerConsumer(_ name: String, at position: Position?) throws -> Position {
        try outcome(of: name, .register(at: position)).position()
    }

    /// Acknowledges the journal up to a position for a consumer; blocks.
    ///
    /// Returns the acknowledged position.
    package func acknowledge(_ position: Position, asConsumer name: String) throws -> Position {
        try outcome(of: name, .acknowledge(position)).position()
    }

    /// Moves a consumer to a position, possibly backwards, or to the end if nil.
    ///
    /// Blocks until that is durable. Returns the acknowledged position.
    package func resetConsumer(_ name: String, to position: Position?) throws -> Position {
        try outcome(of: name, .reset(to: position)).position()
    }

    /// Removes a consumer; blocks until that is durable.
    ///
    /// Returns false if there is no such consumer.
    package func removeConsumer(_ name: String) throws -> Bool {
        try outcome(of: name, .remove).acknowledged != nil
    }

    private func outcome(
        of name: String, _ action: ConsumerRequest.Action
    ) throws -> ConsumerOutcome {
        let request = ConsumerRequest(name: name, action: action)
        return try ConsumerOutcome(connection.answer(.consumer(request)), connection)
    }
}
