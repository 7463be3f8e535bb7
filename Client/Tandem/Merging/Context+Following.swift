public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Merges received transactions if the context merges automatically.
    func followPushes() async {
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
            for participant in participants { participant.list?.noteEnd(ending) }
            return
        }
        do {
            try await merge(
                through: connection.knownSession?.position ?? session.position, callsOfMerge)
            familyState.isStale = false
        } catch {
            // The context has been pinned in the meantime.
            guard familyState.pin == nil else { return }
            await recover(from: error as? TandemError ?? TandemError(.storage, "\(error)"))
        }
    }

    /// Reports a failed merge, and restarts at the current position if another attempt would fail
    /// too.
    ///
    /// Otherwise the context retries after the connection is restored, or with the next save by
    /// others.
    private func recover(from error: TandemError) async {
        reportFailedMerge(error)
        guard !error.isTransient, familyState.pin == nil, let now = connection.knownSession else {
            return
        }
        do {
            try await restartAndMerge(in: now, callsOfMerge)
            familyState.isStale = false
        } catch {
            guard familyState.pin == nil else { return }
            reportFailedMerge(error as? TandemError ?? TandemError(.storage, "\(error)"))
        }
    }

    /// The requests of an automatic merge, which ends as soon as a pin is taken.
    private var callsOfMerge: DaemonCalls {
        DaemonCalls(connection, .suspendingWhile { self.familyState.pin == nil })
    }

    private func reportFailedMerge(_ error: TandemError) {
        familyState.isStale = true
        if let debug { debug.trace(.merge, name, since: debug.now, [("error", "\(error)")]) }
        // The loss of the connection has its own event.
        guard error.code != .disconnected, let position else { return }
        connection.payloads.publish(
            ConnectionEvent(
                state: .mergeFailed, position: position,
                reason: "context \(name) could not merge the saves of others: \(error)",
                context: name, error: error))
    }

    /// Whether the last automatic merge failed, in which case the context may show an older
    /// position.
    ///
    /// The next successful merge resets the value to false. Fetches and saves merge first and throw
    /// the error; ``PersistentContainer/connectionEvents`` reports each failure.
    public var isStale: Bool { familyState.isStale }

    /// Stops automatic merging; the context stays at its position until the next request.
    public func pause() { isPaused = true }

    /// Merges up to the end of the journal as one change, and resumes automatic merging; blocks.
    @discardableResult
    public func resume() throws -> Position { try blocking { try await resume($0) } }

    /// Merges up to the end of the journal as one change, and resumes automatic merging.
    @discardableResult
    public func resume() async throws -> Position {
        try await resume(suspendingCalls)
    }

    private func resume(_ calls: DaemonCalls) async throws -> Position {
        _ = try await connectedSession(calls)
        let position = try await mergeToEnd(calls)
        isPaused = false
        return position
    }

    /// Waits until everything up to a position is merged; blocks.
    ///
    /// Works in every mode. Throws `timeout` if the journal does not reach the position within
    /// `timeout` seconds, and `historyExpired` for a position of another log or epoch.
    @discardableResult
    public func reach(_ position: Position, timeout: Double = 10) throws -> Position {
        try blocking { try await reach(position, timeout, $0) }
    }

    /// Waits until everything up to a position is merged.
    @discardableResult
    public func reach(
        _ position: Position, timeout: Double = 10
    ) async throws -> Position {
        try await reach(position, timeout, suspendingCalls)
    }

    func reach(
        _ position: Position, _ timeout: Double, _ calls: DaemonCalls
    ) async throws -> Position {
        precondition(timeout >= 0, "A timeout must not be negative.")
        var session = try await connectedSession(calls)
        if !position.isComparable(with: session.position(0)) {
            // Another process may already know of a new epoch, which this context learns of from
            // the daemon's answer.
            let now = try await mergeToEnd(calls)
            guard let present = self.session, position.isComparable(with: now) else {
                throw TandemError.foreign(position)
            }
            session = present
        }
        guard merged < position.number else {
            // The position is reached only after all lists are fetched, including those of a merge
            // in progress.
            try await merge(through: merged, calls)
            return (self.session ?? session).position(merged)
        }
        let milliseconds = UInt32(clamping: Int64(min(timeout, 4_000_000) * 1_000))
        return try await mergeToEnd(
            atLeast: position.number, milliseconds: milliseconds, calls)
    }

    /// Merges up to the end of the journal; if it ends before a position, waits for that position.
    ///
    /// Throws `timeout` if the journal does not reach the position in time.
    @discardableResult
    func mergeToEnd(
        atLeast position: UInt64 = 0, milliseconds: UInt32 = 0, _ calls: DaemonCalls
    ) async throws -> Position {
        let end = try await calls.journalEnd(atLeast: position, milliseconds: milliseconds)
        guard end >= position else {
            throw TandemError.notReached(position, last: end)
        }
        try await merge(through: end, calls)
        guard let session else { return try await connected(calls) }
        return session.position(merged)
    }
}
