public import TandemModel

/// Merging on request, for contexts that do not merge automatically or are paused.
extension ManagedObjectContext {
    /// Merges up to the save of another context that a ``SavePayload`` describes; blocks.
    ///
    /// Updated objects are refreshed, inserted ones can be fetched and enter lists, and deleted
    /// ones are removed. Unsaved edits stay on top. A context has a single position, so all earlier
    /// saves are merged as well, in order, whether or not they were reported. Saves that are
    /// already merged are not merged again. Throws `historyExpired` for a payload of another log or
    /// epoch.
    ///
    ///     for try await payload in container.didSave where payload.author != "me" {
    ///         try await context.mergeChanges(fromContextDidSave: payload)
    ///     }
    @discardableResult
    public func mergeChanges(fromContextDidSave payload: SavePayload) throws -> Position {
        try blocking { try await mergeByHand(payload.position, $0) }
    }

    /// Merges up to a save of another context.
    @discardableResult
    public func mergeChanges(
        fromContextDidSave payload: SavePayload
    ) async throws -> Position {
        try await mergeByHand(payload.position, suspendingCalls)
    }

    /// Merges up to a save of another process into several contexts, given only its position;
    /// blocks.
    ///
    /// A position can be sent as text, in a message, a file or an argument. The contexts are merged
    /// one after another; the first failure ends the call. See
    /// ``mergeChanges(fromContextDidSave:)``.
    public static func mergeChanges(
        fromRemoteContextSave position: Position, into contexts: [ManagedObjectContext]
    ) throws {
        for context in contexts {
            _ = try context.blocking { try await context.mergeByHand(position, $0) }
        }
    }

    /// Merges up to a save of another process into several contexts, one after another.
    public static func mergeChanges(
        fromRemoteContextSave position: Position, into contexts: [ManagedObjectContext]
    ) async throws {
        for context in contexts {
            _ = try await context.mergeByHand(position, context.suspendingCalls)
        }
    }

    /// Merges no further than `position` if the connection has received it; otherwise waits for it.
    private func mergeByHand(
        _ position: Position, _ calls: DaemonCalls
    ) async throws -> Position {
        let before = try await connectedSession(calls)
        let now = connection.knownSession ?? before
        guard position.isComparable(with: now.position(0)), position.number <= now.position
        else { return try await reach(position, ClientLimits.byHandSeconds, calls) }
        try await merge(through: position.number, calls)
        return (session ?? before).position(merged)
    }
}

extension ClientLimits {
    /// The time to wait for a save that the daemon has not announced yet, in seconds.
    fileprivate static let byHandSeconds = 10.0
}
