public import TandemModel
import TandemWire

/// Contexts that stay at a position while others save: Core Data's query generations.
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
        try pinStep(position).run(on: connection)
    }

    /// Keeps the context, its children and its lists at a position until it is moved.
    @discardableResult
    public nonisolated(nonsending) func pin(at position: Position? = nil) async throws -> Position {
        try await pinStep(position).runAsync(on: connection)
    }

    /// Moves the context to the end of the journal as one change, and ends the pin; blocks.
    ///
    /// A context that merges automatically does so again.
    @discardableResult
    public func unpin() throws -> Position { try unpinStep().run(on: connection) }

    /// Moves the context to the end of the journal as one change, and ends the pin.
    ///
    /// A context that merges automatically does so again.
    @discardableResult
    public nonisolated(nonsending) func unpin() async throws -> Position {
        try await unpinStep().runAsync(on: connection)
    }

    // MARK: Steps

    func pinStep(_ position: Position?) throws -> Step<Position> {
        if let parent { return try parent.pinStep(position) }
        forgetExpiry()
        return try sessionStep().then { session in
            let position = position ?? session.position(self.merged)
            return try self.waitStep(for: position, session).then { _ in
                guard position.number >= self.merged || !self.isFamilyEdited else {
                    throw TandemError(
                        .usage,
                        "unsaved edits belong to \(session.position(self.merged)): save them or roll "
                            + "back before moving back to \(position)")
                }
                let before = self.familyState.pin
                let pin = before ?? Pin(self.connection)
                return try self.heldStep(pin, towards: position.number).then { _ in
                    self.familyState.pin = pin
                    guard let now = self.connection.knownSession, !self.isHere(now) else {
                        return try self.moveStep(to: position.number, isExact: true)
                    }
                    return try self.restartStep(in: now, at: position.number)
                }.then {
                    try pin.takeStep(at: position.number, isRenewed: true)
                }.recover { error in
                    if self.familyState.pin === pin { self.familyState.pin = before }
                    throw error
                }.then { try self.connectStep() }
            }
        }
    }

    /// Makes the pin hold the history needed to move to a position and to read there.
    private func heldStep(_ pin: Pin, towards position: UInt64) throws -> Step<Void> {
        guard merged < position else { return try pin.takeStep(at: position, isRenewed: true) }
        return try pin.takeStep(at: merged).recover { _ in
            // If the present position can't be pinned any more, the move restarts the context at
            // the target.
            try pin.takeStep(at: position, isRenewed: true)
        }
    }

    private func unpinStep() throws -> Step<Position> {
        if let parent { return try parent.unpinStep() }
        forgetExpiry()
        guard familyState.pin != nil else { return try connectStep() }
        return .ask(.sync(Sync(number: 0, timeoutMilliseconds: 0))) {
            if case .synced(let position) = $0 { position } else { nil }
        } then: { (end: UInt64) in
            try self.moveStep(to: max(end, self.merged)).then { _ in
                self.follow()
                return try self.connectStep()
            }
        }
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
    func waitStep(for position: Position, _ session: ServerState) throws -> Step<ServerState> {
        guard position.number > 0 else {
            throw TandemError(.historyExpired, "position 0 has no state to read; the first is 1")
        }
        let known = connection.knownSession ?? session
        if position.isComparable(with: known.position(0)), position.number <= known.position {
            return .done(session)
        }
        let seconds = ClientLimits.pinSeconds
        let wait = Sync(number: position.number, timeoutMilliseconds: UInt32(seconds * 1_000))
        return .ask(.sync(wait)) {
            if case .synced(let position) = $0 { position } else { nil }
        } then: { (end: UInt64) in
            guard let now = self.connection.knownSession,
                position.isComparable(with: now.position(0))
            else {
                throw TandemError(
                    .historyExpired, TandemError.foreign(position).message)
            }
            guard end >= position.number else {
                throw TandemError(
                    .timeout, TandemError.notReached(position.number, last: end).message)
            }
            return .done(session)
        }
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
