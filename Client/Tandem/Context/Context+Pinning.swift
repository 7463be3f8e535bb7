public import TandemModel
import TandemWire

/// Contexts that stay at a position while others save: Core Data's query generations.
extension ManagedObjectContext {
    /// Where the context is pinned; nil when it isn't.
    public var pinnedPosition: Position? { standing.pin == nil ? nil : position }

    /// Keeps the context, its children and its lists at a position until it is moved; blocks.
    ///
    /// What is read from then on, by fetches, counts, lists and faults, is what there was at that position, whatever others
    /// save; nothing is merged unprompted. The context is moved, as one change of every list, by another pin, by ``unpin()``, and by what
    /// asks for a later position: ``reach(_:timeout:)``, merging by hand, and a save, which leaves it pinned where the save is.
    /// Conflicts are found by version, as ever.
    ///
    ///     try context.pin()                  // where it stands
    ///     let report = try makeReport(context)
    ///     try context.unpin()
    ///
    /// The daemon keeps what it takes to look back for a while: until the pin has not been moved for `limits.pinSeconds`, the connection
    /// is lost for so long that the journal is trimmed meanwhile, or the journal is over its cap. Then reads throw
    /// `historyExpired`, until the context is pinned anew or unpinned. Cost: every read undoes in the daemon what was saved since.
    ///
    /// - Parameter position: Where; nil for where the context stands. An earlier one shows what there was then.
    /// - Returns: Where the context stands.
    /// - Throws: `historyExpired` when nobody can tell any more what there was, with the oldest position of which that can be told;
    ///   `limitExceeded` for too many pins or more saves since than the daemon undoes; `timeout` for a position beyond the
    ///   journal's end; `usage` for an earlier one when there are unsaved edits. The context then stays as it was.
    @discardableResult
    public func pin(at position: Position? = nil) throws -> Position {
        try pinStep(position).run(on: connection)
    }

    /// Keeps the context, its children and its lists at a position until it is moved.
    @discardableResult
    public nonisolated(nonsending) func pin(at position: Position? = nil) async throws -> Position {
        try await pinStep(position).runAsync(on: connection)
    }

    /// Moves the context to the end of the journal as one change and lets it follow again, if that is what it does; blocks.
    @discardableResult
    public func unpin() throws -> Position { try unpinStep().run(on: connection) }

    /// Moves the context to the end of the journal as one change and lets it follow again, if that is what it does.
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
                        "unsaved edits are of \(session.position(self.merged)): save them or roll "
                            + "back before going back to \(position)")
                }
                let before = self.standing.pin
                let pin = before ?? Pin(self.connection)
                return try self.heldStep(pin, towards: position.number).then { _ in
                    self.standing.pin = pin
                    guard let now = self.connection.knownSession, !self.isHere(now) else {
                        return try self.moveStep(to: position.number, isExact: true)
                    }
                    return try self.restartStep(in: now, at: position.number)
                }.then {
                    try pin.takeStep(at: position.number, isRenewed: true)
                }.recover { error in
                    if self.standing.pin === pin { self.standing.pin = before }
                    throw error
                }.then { try self.connectStep() }
            }
        }
    }

    /// Lets a pin hold what it takes to go to a position, and to read there.
    private func heldStep(_ pin: Pin, towards position: UInt64) throws -> Step<Void> {
        guard merged < position else { return try pin.takeStep(at: position, isRenewed: true) }
        return try pin.takeStep(at: merged).recover { _ in
            // Then it begins anew there.
            try pin.takeStep(at: position, isRenewed: true)
        }
    }

    private func unpinStep() throws -> Step<Position> {
        if let parent { return try parent.unpinStep() }
        forgetExpiry()
        guard standing.pin != nil else { return try connectStep() }
        return .ask(.sync(Sync(number: 0, timeoutMilliseconds: 0))) {
            if case .synced(let position) = $0 { position } else { nil }
        } then: { (end: UInt64) in
            try self.moveStep(to: max(end, self.merged)).then { _ in
                self.follow()
                return try self.connectStep()
            }
        }
    }

    /// Lets the context follow the stream of its connection again.
    private func follow() {
        standing.pin = nil
        // What the stream lacks before here is merged; what comes after it is asked for where it has a gap.
        if let now = connection.knownSession, isHere(now) {
            standing.session?.generation = now.generation
        }
        link.signal()
    }

    /// Waits until the journal reaches a position, and merges nothing.
    func waitStep(for position: Position, _ session: Session) throws -> Step<Session> {
        guard position.number > 0 else {
            throw TandemError(.historyExpired, "before position 1 there is nothing to read")
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
                    .historyExpired, "\(position) is of another log or epoch than this store's")
            }
            guard end >= position.number else {
                throw TandemError(
                    .timeout, "the journal ends at \(end), before \(position.number)")
            }
            return .done(session)
        }
    }

    /// What ended a pin is no news to who moves it.
    private func forgetExpiry() {
        guard standing.pin != nil, faultFailure?.code == .historyExpired else { return }
        faultFailure = nil
    }

    /// Whether anything is edited here or in a child.
    private var isFamilyEdited: Bool {
        !edited.isEmpty || unanswered != nil
            || children.contains { $0.value?.isFamilyEdited ?? false }
    }

    /// Whether a session is of the log and epoch in which the context stands.
    func isHere(_ now: Session) -> Bool { now.log == session?.log && now.epoch == session?.epoch }
}

extension ClientLimits {
    /// How long a pin waits for a position that the journal has not reached.
    fileprivate static let pinSeconds = 10
}
