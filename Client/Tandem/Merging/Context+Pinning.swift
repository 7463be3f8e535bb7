public import TandemModel
import TandemWire

/// Contexts that stay at a position while others save, like Core Data's query generations.
extension ManagedObjectContext {
    /// The position of the pin, or nil if the context is not pinned.
    public var pinnedPosition: Position? { familyState.pin == nil ? nil : position }

    /// Keeps the context, its children and its lists at a position until it is moved; blocks.
    ///
    /// All later reads, by fetches, counts, lists and faults, return the state at that position,
    /// whatever others save. Nothing is merged automatically. The context moves, as one change of
    /// every list, with
    ///
    /// - another pin,
    /// - ``unpin()``,
    /// - a request for a later position: ``reach(_:timeout:)`` or merging by hand,
    /// - a save, after which it is pinned at the position of the save.
    ///
    /// Conflicts are detected by version, as in contexts without a pin.
    ///
    ///     try context.pin()                  // at its present position
    ///     let report = try makeReport(context)
    ///     try context.unpin()
    ///
    /// The daemon keeps the required history for a limited time. The pin ends if it is not moved
    /// for `limits.pinSeconds`, if the journal is trimmed during a loss of the connection, or if
    /// the journal exceeds its cap. Reads then throw `historyExpired` until the context is pinned
    /// again or unpinned. Cost: for every read the daemon undoes everything that was saved since.
    ///
    /// - Parameter position: The position; nil for the context's present one. An earlier position
    ///   shows the state of that time.
    /// - Returns: The context's position.
    /// - Throws: One of these errors; the context then stays as it was:
    ///   - `historyExpired` if the state at the position is no longer available; the message names
    ///     the oldest readable position.
    ///   - `limitExceeded` for too many pins, or if more was saved since than the daemon undoes.
    ///   - `timeout` for a position after the journal's end.
    ///   - `usage` for an earlier position if there are unsaved edits.
    @discardableResult
    public func pin(at position: Position? = nil) throws -> Position {
        try blocking { try await pin(position, $0) }
    }

    /// Keeps the context, its children and its lists at a position until it is moved.
    @discardableResult
    public func pin(at position: Position? = nil) async throws -> Position {
        try await pin(position, suspendingCalls)
    }

    /// Moves the context to the end of the journal as one change, and ends the pin; blocks.
    ///
    /// A context that merges automatically does so again.
    @discardableResult
    public func unpin() throws -> Position { try blocking { try await unpin($0) } }

    /// Moves the context to the end of the journal as one change, and ends the pin.
    ///
    /// A context that merges automatically does so again.
    @discardableResult
    public func unpin() async throws -> Position {
        try await unpin(suspendingCalls)
    }

    // MARK: Operations

    func pin(_ position: Position?, _ calls: DaemonCalls) async throws -> Position {
        if let parent { return try await parent.pin(position, calls) }
        forgetExpiry()
        let session = try await connectedSession(calls)
        let position = position ?? session.position(merged)
        _ = try await wait(for: position, session, calls)
        guard position.number >= merged || !isFamilyEdited else {
            throw TandemError(
                .usage,
                "unsaved edits belong to \(session.position(merged)): save them or roll back "
                    + "before moving back to \(position)")
        }
        let before = familyState.pin
        let pin = before ?? Pin(connection)
        do {
            try await readHistory(pin, towards: position.number, calls)
            familyState.pin = pin
            if let now = connection.knownSession, !isHere(now) {
                try await restartAndMerge(in: now, at: position.number, calls)
            } else {
                try await move(to: position.number, isExact: true, calls)
            }
            try await pin.acquire(at: position.number, isRenewed: true, calls)
        } catch {
            if familyState.pin === pin { familyState.pin = before }
            throw error
        }
        return try await connected(calls)
    }

    /// Makes the pin hold the history needed to move to a position and to read there.
    private func readHistory(
        _ pin: Pin, towards position: UInt64, _ calls: DaemonCalls
    ) async throws {
        if merged < position, (try? await pin.acquire(at: merged, calls)) != nil { return }
        // If the present position can no longer be pinned, the move restarts the context at the
        // target.
        try await pin.acquire(at: position, isRenewed: true, calls)
    }

    private func unpin(_ calls: DaemonCalls) async throws -> Position {
        if let parent { return try await parent.unpin(calls) }
        forgetExpiry()
        guard familyState.pin != nil else { return try await connected(calls) }
        let end = try await calls.journalEnd()
        try await move(to: max(end, merged), calls)
        follow()
        return try await connected(calls)
    }

    /// Returns the context to the stream of its connection.
    private func follow() {
        familyState.pin = nil
        // Everything up to here is merged, so earlier gaps in the stream do not matter; later ones
        // are requested as history.
        if let now = connection.knownSession, isHere(now) {
            familyState.session?.generation = now.generation
        }
        link.signal()
    }

    /// Waits until the journal reaches a position, without merging anything.
    func wait(
        for position: Position, _ session: ServerState, _ calls: DaemonCalls
    ) async throws -> ServerState {
        guard position.number > 0 else {
            throw TandemError(.historyExpired, "position 0 has no state to read; the first is 1")
        }
        let known = connection.knownSession ?? session
        if position.isComparable(with: known.position(0)), position.number <= known.position {
            return session
        }
        let end = try await calls.journalEnd(
            atLeast: position.number, milliseconds: UInt32(ClientLimits.pinSeconds * 1_000))
        guard let now = connection.knownSession, position.isComparable(with: now.position(0)) else {
            throw TandemError.foreign(position)
        }
        guard end >= position.number else {
            throw TandemError.notReached(position.number, last: end)
        }
        return session
    }

    /// Discards the error of an expired pin, because moving the pin is the remedy.
    private func forgetExpiry() {
        guard familyState.pin != nil, faultFailure?.code == .historyExpired else { return }
        faultFailure = nil
    }

    /// Whether this context or a child has edits.
    private var isFamilyEdited: Bool {
        !edited.isEmpty || inFlightSave != nil
            || children.contains { $0.value?.isFamilyEdited ?? false }
    }

    /// Returns whether a session has the log and epoch of the context.
    func isHere(_ now: ServerState) -> Bool {
        now.log == session?.log && now.epoch == session?.epoch
    }
}

extension ClientLimits {
    /// The time that a pin waits for a position after the journal's end, in seconds.
    fileprivate static let pinSeconds = 10
}
