public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Merges received transactions if the context merges automatically.
    nonisolated(nonsending) func followPushes() async {
        guard mergesAutomatically, !isPaused, familyState.pin == nil, let session else { return }
        // Merging now would make a nearly complete answer unusable, and its request would have to
        // be repeated.
        guard readsHeld == 0, readsAwaited == 0 || !connection.keepsBack(at: merged) else {
            hasHeldPushes = true
            return
        }
        if let ending = connection.ending {
            // No more transactions will arrive; lists have to report this instead of appearing
            // current.
            for participant in participants { participant.value?.noteEnd(ending) }
            return
        }
        do {
            try await mergeStep(
                through: connection.knownSession?.position ?? session.position
            ).runAsync(on: connection) { self.familyState.pin == nil }
            familyState.isStale = false
        } catch {
            await recover(from: error as? TandemError ?? TandemError(.storage, "\(error)"))
        }
    }

    /// Reports a failed merge, and restarts at the current position if another attempt would fail
    /// too.
    ///
    /// Otherwise the context retries after the connection is restored, or with the next save by
    /// others.
    private nonisolated(nonsending) func recover(from error: TandemError) async {
        reportFailedMerge(error)
        guard !error.isPassing, familyState.pin == nil, let now = connection.knownSession else {
            return
        }
        do {
            try await restartStep(in: now).runAsync(on: connection) { self.familyState.pin == nil }
            familyState.isStale = false
        } catch {
            reportFailedMerge(error as? TandemError ?? TandemError(.storage, "\(error)"))
        }
    }

    private func reportFailedMerge(_ error: TandemError) {
        familyState.isStale = true
        if let debug { debug.tell(.merge, name, since: debug.now, [("error", "\(error)")]) }
        // The loss of the connection has its own event.
        guard error.code != .disconnected, let position else { return }
        connection.payloads.publish(
            ConnectionEvent(
                state: .mergeFailed, position: position,
                reason: "context \(name) could not merge the saves of others: \(error)",
                context: name, error: error))
    }

    /// Whether the last automatic merge failed, so that the context may show an older position.
    ///
    /// The next successful merge resets this to false. Fetches and saves merge first and throw the
    /// error; ``PersistentContainer/connectionEvents`` reports each failure.
    public var isStale: Bool { familyState.isStale }

    /// Stops automatic merging; the context stays at its position until the next request.
    public func pause() { isPaused = true }

    /// Merges up to the end of the journal as one change, and resumes automatic merging; blocks.
    @discardableResult
    public func resume() throws -> Position { try resumeStep().run(on: connection) }

    /// Merges up to the end of the journal as one change, and resumes automatic merging.
    @discardableResult
    public nonisolated(nonsending) func resume() async throws -> Position {
        try await resumeStep().runAsync(on: connection)
    }

    private func resumeStep() throws -> Step<Position> {
        try sessionStep().then { _ in
            try self.syncStep(number: 0, milliseconds: 0).then { position in
                self.isPaused = false
                return .done(position)
            }
        }
    }

    /// Waits until everything up to a position is merged; blocks.
    ///
    /// Works in every mode. Throws `timeout` if the journal does not reach the position within
    /// `timeout` seconds, and `historyExpired` for a position of another log or epoch.
    @discardableResult
    public func reach(_ position: Position, timeout: Double = 10) throws -> Position {
        try reachStep(position, timeout).run(on: connection)
    }

    /// Waits until everything up to a position is merged.
    @discardableResult
    public nonisolated(nonsending) func reach(
        _ position: Position, timeout: Double = 10
    ) async throws -> Position {
        try await reachStep(position, timeout).runAsync(on: connection)
    }

    func reachStep(_ position: Position, _ timeout: Double) throws -> Step<Position> {
        precondition(timeout >= 0, "A timeout must not be negative.")
        return try sessionStep().then { session in
            if position.isComparable(with: session.position(0)) {
                return try self.reachStep(position.number, session, timeout)
            }
            // Another process may already know of a new epoch; this context learns of it from the
            // daemon's answer.
            return try self.syncStep(number: 0, milliseconds: 0).then { now in
                guard let session = self.session, position.isComparable(with: now) else {
                    throw TandemError(
                        .historyExpired, TandemError.foreign(position).message
                    )
                }
                return try self.reachStep(position.number, session, timeout)
            }
        }
    }

    private func reachStep(
        _ number: UInt64, _ session: ServerState, _ timeout: Double
    ) throws -> Step<Position> {
        if merged >= number {
            // The position is reached only after all lists are fetched, including those of a merge
            // in progress.
            return try mergeStep(through: merged).then { _ in
                .done((self.session ?? session).position(self.merged))
            }
        }
        let milliseconds = UInt32(clamping: Int64(min(timeout, 4_000_000) * 1_000))
        return try syncStep(number: number, milliseconds: milliseconds)
    }

    func syncStep(number: UInt64, milliseconds: UInt32) throws -> Step<Position> {
        let message = ClientMessage.sync(Sync(number: number, timeoutMilliseconds: milliseconds))
        return .ask(message) {
            if case .synced(let position) = $0 { position } else { nil }
        } then: { (end: UInt64) in
            guard end >= number else {
                throw TandemError.notReached(number, last: end)
            }
            return try self.mergeStep(through: end).then { _ in
                guard let session = self.session else { return try self.connectStep() }
                return .done(session.position(self.merged))
            }
        }
    }
}
