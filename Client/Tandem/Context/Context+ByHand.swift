public import TandemModel

/// Merging by hand, for contexts that merge nothing unprompted or are paused.
extension ManagedObjectContext {
    /// Merges up to a save of another context, as ``SavePayload``s tell of them; blocks.
    ///
    /// Objects updated there are refreshed, new ones are there to be fetched and enter lists, deleted ones are gone; unsaved edits stay on top. A
    /// context has one position, so the saves before the payload's, told of or not, are merged with it, whole and in order; what
    /// is merged already is not merged again. Throws `historyExpired` for a payload of another log or epoch.
    ///
    ///     for try await payload in container.didSave where payload.author != "me" {
    ///         try await context.mergeChanges(fromContextDidSave: payload)
    ///     }
    @discardableResult
    public func mergeChanges(fromContextDidSave payload: SavePayload) throws -> Position {
        try byHandStep(payload.position).run(on: connection)
    }

    /// Merges up to a save of another context.
    @discardableResult
    public nonisolated(nonsending) func mergeChanges(
        fromContextDidSave payload: SavePayload
    ) async throws -> Position {
        try await byHandStep(payload.position).runAsync(on: connection)
    }

    /// Merges up to a save of another process, of which only the position came along, into several contexts; blocks.
    ///
    /// A position travels as text, in a message, a file or an argument. The first context that fails ends it. See
    /// ``mergeChanges(fromContextDidSave:)``.
    public static func mergeChanges(
        fromRemoteContextSave position: Position, into contexts: [ManagedObjectContext]
    ) throws {
        for context in contexts {
            _ = try context.byHandStep(position).run(on: context.connection)
        }
    }

    /// Merges up to a save of another process into several contexts, one after another.
    public nonisolated(nonsending) static func mergeChanges(
        fromRemoteContextSave position: Position, into contexts: [ManagedObjectContext]
    ) async throws {
        for context in contexts {
            _ = try await context.byHandStep(position).runAsync(on: context.connection)
        }
    }

    /// Merges no further than to the position where the connection has come that far; else it waits for it.
    private func byHandStep(_ position: Position) throws -> Step<Position> {
        try sessionStep().then { session in
            let now = self.connection.knownSession ?? session
            guard position.isComparable(with: now.position(0)), position.number <= now.position
            else { return try self.reachStep(position, ClientLimits.byHandSeconds) }
            return try self.mergeStep(through: position.number).then { _ in
                .done((self.session ?? session).position(self.merged))
            }
        }
    }
}

extension ClientLimits {
    /// How long merging by hand waits for a save that the daemon has not told of yet.
    fileprivate static let byHandSeconds = 10.0
}
