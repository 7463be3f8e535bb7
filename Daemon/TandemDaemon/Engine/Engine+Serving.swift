import TandemIO
import TandemModel
import TandemWire

/// Service of waiting sessions in slices, so that a save never waits for all of them.
extension Engine {
    /// Serves a limited number of sessions with requests, and of sessions with output; the others
    /// wait for later slices.
    func serveSlice() throws {
        sliceBegan = clock.monotonicNanoseconds
        try deliverReads()
        try answerSlice()
        // A subscriber must get as many bytes as are saved, or it lags for as long as the saves
        // continue.
        try serve(DaemonLimits.sliceSessions, max(DaemonLimits.sliceBytes, news)) {
            following.popFirst()
        }
        news = 0
        recordFanOuts()
    }

    /// Answers requests until the slice's time is up.
    ///
    /// A session with more requests is queued after the sessions that were not served.
    private func answerSlice() throws {
        sliceBytes = 0
        var answered: [Session] = []
        for _ in 0..<min(DaemonLimits.sliceSessions, asking.count)
        where sliceBytes < DaemonLimits.sliceBytes {
            guard let session = asking.popFirst() else { break }
            if !answered.isEmpty, isLate(session) {
                schedule(session)
            } else {
                try serve(session) { answered.append($0) }
            }
        }
        for session in answered { schedule(session) }
    }

    /// Records how long each completed flush took to reach all its subscribers.
    private func recordFanOuts() {
        guard fanOuts.count > 0 else { return }
        let now = clock.monotonicNanoseconds
        fanOuts.end(turns: following.popCount) {
            metrics.fanOut.record(nanoseconds: now - min(now, $0))
        }
    }

    private func serve(_ count: Int, _ bytes: Int, _ next: () -> Session?) throws {
        sliceBytes = 0
        for _ in 0..<count where sliceBytes < bytes {
            guard let session = next() else { return }
            try serve(session)
        }
    }

    /// Whether the slice's time is up, so that saves go first; sessions before their hello don't
    /// wait.
    private func isLate(_ session: Session) -> Bool {
        session.isReady
            && clock.monotonicNanoseconds >= sliceBegan + DaemonLimits.sliceNanoseconds
    }

    /// Runs a session's turn: pushes, then answers, each up to the session's room and the turn's
    /// limits.
    func serve(_ session: Session) throws { try serve(session, then: schedule) }

    private func serve(_ session: Session, then next: (Session) -> Void) throws {
        if try serveAlike(session) { return }
        if session.isWaitingToWrite { finish(session) }
        // Bytes accepted by its socket may have made room for the answers to its saves.
        guard !session.isClosing, !session.isWaitingToWrite else { return schedule(session) }
        if session.isReady { try pump(session) }
        var left = DaemonLimits.requestsInTurn
        while left > 0, !session.isClosing, session.hasQuestion, !isLate(session),
            let (id, message) = session.dequeueQuestion()
        {
            let start = clock.monotonicNanoseconds
            try answer(message, id, session)
            committer.record(request: start, until: clock.monotonicNanoseconds)
            left -= 1
        }
        finish(session)
        next(session)
    }

    // MARK: Pushes

    /// Queues pushes up to the session's room and the turn's limits, then the answers held for
    /// them.
    func pump(_ session: Session) throws {
        guard !session.isClosing, !session.isWaitingToWrite else { return }
        do {
            try queuePushes(session)
        } catch let error as TandemError {
            // Queued bytes must be sent completely before the error.
            finish(session)
            guard session.outboundBytes == 0, !session.isClosing else { return }
            // A transaction that can't be read ends only the session that needs it.
            guard error.code == .historyExpired else { return end(session, error, .unreadable) }
            retention.counters.expiredSessions += 1
            return end(session, error, .expired)
        }
        if session.lagPosition == nil { session.source.rest() }
        announceReadOnlyState(session)
        markProgress(session)
        release(session)
    }

    /// Queues pushes up to the outbound limit and the turn's limits.
    func queuePushes(_ session: Session) throws {
        let last = committer.position
        var left = DaemonLimits.turnTransactions
        let room = min(DaemonLimits.turnBytes, limits.outboundBytes)
        while left > 0, let sent = session.lagPosition, session.outboundBytes < room {
            // A session without interests receives nothing after the last model change.
            let isIdle = session.interests.isEmpty && sent >= committer.store.modelPosition
            guard sent < last, !isIdle else { return subscribers.markCurrent(session) }
            if let body = try body(at: sent + 1, for: session) { session.push(body) }
            session.lagPosition = sent + 1
            left -= 1
        }
        if session.lagPosition == last { subscribers.markCurrent(session) }
    }

    /// Returns the push of a transaction to a session, or nil if the transaction is irrelevant.
    ///
    /// A body from the ring is made once per group. A session that reads from segments is usually
    /// the only one at its position, so its bodies aren't cached.
    func body(at position: UInt64, for session: Session) throws -> PushBody? {
        guard let group = session.group else { return nil }
        if let first = committer.ring.first, position >= first {
            return try cache.body(at: position, for: group) {
                try session.source.transaction(at: position, committer.ring)
            }
        }
        let transaction = try session.source.transaction(at: position, committer.ring)
        return try group.filtered(transaction).map { try PushBody($0) }
    }

    /// Queues progress marks for subscribers that have received none of the latest transactions.
    ///
    /// Called after a checkpoint, so at most a few times a second. As a result, the positions that
    /// clients display and resume from stay close to the tail.
    func markProgress() {
        for session in sessions.values where session.isReady && !session.interests.isEmpty {
            guard session.machine.cursor < session.sent else { continue }
            session.needsProgressMark = true
            if !session.isWaitingToWrite { following.append(session) }
        }
    }

    private func markProgress(_ session: Session) {
        guard session.needsProgressMark else { return }
        session.needsProgressMark = false
        session.pushProgress()
    }

    // MARK: State

    /// Announces the read-only state to all sessions if it has changed since the last call.
    func announceReadOnlyState() {
        // Called in every round, so texts are made only if there is something to announce.
        guard committer.readOnlyState.isReadOnly || told.readOnlyState.isReadOnly,
            committer.readOnlyState.reason != told.readOnlyState.reason
        else { return }
        told = (committer.readOnlyState, told.changes + 1)
        notifier.report(summary)
        for session in sessions.values where session.isReady && !session.isWaitingToWrite {
            following.append(session)
        }
    }

    /// Whether a session has not been sent the latest read-only state.
    func lacksReadOnlyState(_ session: Session) -> Bool {
        session.isReady && session.toldAbility != told.changes
    }

    /// Sends the latest read-only state, or defers it until the session has room again.
    private func announceReadOnlyState(_ session: Session) {
        guard lacksReadOnlyState(session), session.hasRoom else { return }
        session.toldAbility = told.changes
        session.push(
            StatePush(
                isReadOnly: told.readOnlyState.isReadOnly,
                since: told.readOnlyState.since ?? clock.wallMicroseconds,
                reason: told.readOnlyState.reason))
    }
}
