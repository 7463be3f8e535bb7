import TandemModel
import TandemWire

/// Moves a context to later positions: automatically, or up to a position that the app requests.
struct PositionFollower: ContextPart {
    let context: ManagedObjectContext

    /// Merges received transactions if the context merges automatically.
    func followPushes() async {
        guard listUpdater.isFollowing, let session else { return }
        // Merging now would make a nearly complete answer unusable, and its request would have to
        // be repeated.
        if family.mergeDeferral.defers(ifKept: connection.keepsBack(at: merged)) { return }
        if let ending = connection.ending {
            // No more transactions will arrive; lists have to report this instead of appearing
            // current.
            participants.forEachList { $0.didEndConnection(ending) }
            return
        }
        do {
            try await merger.merge(
                through: connection.knownSession?.position ?? session.position, callsOfMerge)
            family.isStale = false
        } catch {
            // If the context was pinned meanwhile, the merge was abandoned on purpose.
            guard family.pin == nil else { return }
            await recover(from: error as? TandemError ?? TandemError(.storage, "\(error)"))
        }
    }

    /// Reports a failed merge, and restarts at the current position if another attempt would fail
    /// too.
    ///
    /// Otherwise the context retries after the connection is restored, or with the next save by
    /// another client.
    private func recover(from error: TandemError) async {
        reportFailedMerge(error)
        guard !error.isTransient, family.pin == nil, let now = connection.knownSession else {
            return
        }
        do {
            try await merger.restartAndMerge(in: now, callsOfMerge)
            family.isStale = false
        } catch {
            guard family.pin == nil else { return }
            reportFailedMerge(error as? TandemError ?? TandemError(.storage, "\(error)"))
        }
    }

    /// The calls of an automatic merge, which ends as soon as the context is pinned.
    private var callsOfMerge: DaemonCalls {
        DaemonCalls(connection, .suspendingWhile { self.family.pin == nil })
    }

    private func reportFailedMerge(_ error: TandemError) {
        family.isStale = true
        if let log { log.addFailure(.merge, since: log.now, context: context.name, error) }
        // The loss of the connection has its own event.
        guard error.code != .disconnected, let position = context.position else { return }
        connection.payloads.publish(
            ConnectionEvent(
                state: .mergeFailed, position: position,
                reason: "context \(context.name) could not merge the saves of others: \(error)",
                context: context.name, error: error))
    }

    // MARK: On request

    /// Merges up to the end of the journal, and resumes automatic merging.
    func resume(_ calls: DaemonCalls) async throws -> Position {
        _ = try await connectedSession(calls)
        let position = try await mergeToEnd(calls)
        family.isPaused = false
        return position
    }

    /// Waits until all transactions up to a position are merged.
    func reach(
        _ position: Position, _ timeout: Double, _ calls: DaemonCalls
    ) async throws -> Position {
        require(timeout >= 0, "A timeout must not be negative.")
        var session = try await connectedSession(calls)
        if !position.isComparable(with: session.position(0)) {
            // The position may belong to a new epoch, which this context learns of from the
            // daemon's answer.
            let now = try await mergeToEnd(calls)
            guard let present = self.session, position.isComparable(with: now) else {
                throw TandemError.foreign(position)
            }
            session = present
        }
        guard merged < position.number else {
            // The position is reached only after all lists are fetched, including those of a merge
            // in progress.
            try await merger.merge(through: merged, calls)
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
        try await merger.merge(through: end, calls)
        guard let session else { return try await connected(calls) }
        return session.position(merged)
    }

    /// Adopts the new model after the daemon refused a request under the old model; rethrows the
    /// error if there is no new model.
    func followModel(
        from before: CompiledModel, _ error: TandemError, _ calls: DaemonCalls
    ) async throws -> ModelTranslation {
        // Before it answers, the daemon pushes everything up to the answer's position, including
        // the model.
        try await mergeToEnd(calls)
        guard let now = session?.model, now.version != before.version else { throw error }
        return ModelTranslation(from: before, to: now)
    }

    /// Merges no further than `position` if the connection has received it; otherwise waits for it.
    func mergeByHand(
        _ position: Position, _ calls: DaemonCalls
    ) async throws -> Position {
        let before = try await connectedSession(calls)
        let now = connection.knownSession ?? before
        guard position.isComparable(with: now.position(0)), position.number <= now.position
        else { return try await reach(position, ClientLimits.byHandSeconds, calls) }
        try await merger.merge(through: position.number, calls)
        return (session ?? before).position(merged)
    }
}

extension ClientLimits {
    /// The time in seconds to wait for a save that the daemon has not announced yet.
    fileprivate static let byHandSeconds = 10.0
}
