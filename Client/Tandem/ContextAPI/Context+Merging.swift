public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Whether the last automatic merge failed, in which case the context may show an older
    /// position.
    ///
    /// The next successful merge resets the value to false. Fetches and saves merge first and throw
    /// the error; ``PersistentContainer/connectionEvents`` reports each failure.
    public var isStale: Bool { checked.family.isStale }

    /// Stops automatic merging; the context stays at its position until the next request.
    public func pause() { checked.family.isPaused = true }

    /// Merges up to the end of the journal as one change, and resumes automatic merging; blocks.
    @discardableResult
    public func resume() throws -> Position { try blocking { try await follower.resume($0) } }

    /// Merges up to the end of the journal as one change, and resumes automatic merging.
    @discardableResult
    public func resume() async throws -> Position {
        try await follower.resume(suspendingCalls)
    }

    /// Waits until all saves up to a position are merged; blocks.
    ///
    /// This also works if the context is paused or pinned, or never merges automatically. Throws
    /// `timeout` if the journal does not reach the position within `timeout` seconds, and
    /// `historyExpired` for a position in a different log or epoch.
    @discardableResult
    public func reach(_ position: Position, timeout: Double = 10) throws -> Position {
        try blocking { try await follower.reach(position, timeout, $0) }
    }

    /// Waits until all saves up to a position are merged.
    @discardableResult
    public func reach(
        _ position: Position, timeout: Double = 10
    ) async throws -> Position {
        try await follower.reach(position, timeout, suspendingCalls)
    }

    /// Merges up to the save of another context that a ``SavePayload`` describes; blocks.
    ///
    /// Updated objects are refreshed, inserted ones can be fetched and appear in lists, and deleted
    /// ones are removed. Unsaved edits stay on top. A context has a single position, so all earlier
    /// saves are merged as well, in order, whether or not they were reported. Saves that were
    /// merged before are skipped. Throws `historyExpired` for a payload from a different log or
    /// epoch.
    ///
    ///     for try await payload in container.didSave where payload.author != "me" {
    ///         try await context.mergeChanges(fromContextDidSave: payload)
    ///     }
    @discardableResult
    public func mergeChanges(fromContextDidSave payload: SavePayload) throws -> Position {
        try blocking { try await follower.mergeByHand(payload.position, $0) }
    }

    /// Merges up to a save of another context.
    @discardableResult
    public func mergeChanges(
        fromContextDidSave payload: SavePayload
    ) async throws -> Position {
        try await follower.mergeByHand(payload.position, suspendingCalls)
    }

    /// Merges a save by another process, and everything before it, into several contexts, given
    /// only the save's position; blocks.
    ///
    /// A position can be sent as text, in a message, a file or an argument. The contexts are merged
    /// one after another; the first failure ends the call. See
    /// ``mergeChanges(fromContextDidSave:)``.
    public static func mergeChanges(
        fromRemoteContextSave position: Position, into contexts: [ManagedObjectContext]
    ) throws {
        for context in contexts {
            _ = try context.blocking { try await context.follower.mergeByHand(position, $0) }
        }
    }

    /// Merges a save by another process, and everything before it, into several contexts, one after
    /// another.
    public static func mergeChanges(
        fromRemoteContextSave position: Position, into contexts: [ManagedObjectContext]
    ) async throws {
        for context in contexts {
            _ = try await context.follower.mergeByHand(position, context.suspendingCalls)
        }
    }

    // MARK: Pins

    /// The position of the pin, or nil if the context is not pinned.
    public var pinnedPosition: Position? { checked.family.pin == nil ? nil : position }

    /// Keeps the context, its children and its lists at a position until the context is moved;
    /// blocks.
    ///
    /// All later reads, by fetches, counts, lists and faults, return the state at that position,
    /// whatever others save. Nothing is merged automatically. Each of the following moves the
    /// context, and every list then reports one change:
    ///
    /// - another pin,
    /// - ``unpin()``,
    /// - a request for a later position, such as ``reach(_:timeout:)`` or a manual merge,
    /// - a save, after which the context is pinned at the position of the save.
    ///
    /// Conflicts are detected by version, as in contexts without a pin.
    ///
    ///     try context.pin()                  // at its current position
    ///     let report = try makeReport(context)
    ///     try context.unpin()
    ///
    /// The daemon keeps the required history for a limited time. The pin ends if it is not moved
    /// for `limits.pinSeconds`, if the journal is trimmed while the connection is lost, or if the
    /// journal exceeds its cap. Reads then throw `historyExpired` until the context is pinned again
    /// or unpinned. Cost: for every read, the daemon undoes everything that was saved since then.
    ///
    /// - Parameter position: The position; nil for the context's current one. An earlier position
    ///   shows the state of that time.
    /// - Returns: The context's position.
    /// - Throws: One of these errors; the context then stays as it was:
    ///   - `historyExpired` if the state at the position is no longer available; the message names
    ///     the oldest readable position.
    ///   - `limitExceeded` for too many pins, or if more was saved since then than the daemon can
    ///     undo.
    ///   - `timeout` for a position after the journal's end.
    ///   - `usage` for an earlier position if there are unsaved edits.
    @discardableResult
    public func pin(at position: Position? = nil) throws -> Position {
        try blocking { try await pins.pin(position, $0) }
    }

    /// Keeps the context, its children and its lists at a position until the context is moved.
    @discardableResult
    public func pin(at position: Position? = nil) async throws -> Position {
        try await pins.pin(position, suspendingCalls)
    }

    /// Moves the context to the end of the journal as one change, and ends the pin; blocks.
    ///
    /// Automatic merging resumes if it was on before the pin.
    @discardableResult
    public func unpin() throws -> Position { try blocking { try await pins.unpin($0) } }

    /// Moves the context to the end of the journal as one change, and ends the pin.
    ///
    /// Automatic merging resumes if it was on before the pin.
    @discardableResult
    public func unpin() async throws -> Position {
        try await pins.unpin(suspendingCalls)
    }
}
