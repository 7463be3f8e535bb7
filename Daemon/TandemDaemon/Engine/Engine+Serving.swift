import TandemIO
import TandemModel
import TandemWire

/// Service of waiting sessions in slices, so that a save never waits for all of them.
extension Engine {
    /// Serves a limited number of sessions with requests, and as many with output; the others wait
    /// for later slices.
    func serveSlice() throws {
        writer.beginTurn(at: clock.monotonicNanoseconds)
        try deliverReads()
        try answerSlice()
        try pushSlice(max(DaemonLimits.sliceBytes, pushes.consumeFlushedBytes()))
        recordFanOuts()
    }

    /// Answers requests until the slice's time is up.
    ///
    /// A session with more requests is queued after the sessions that were not served.
    private func answerSlice() throws {
        writer.beginSlice()
        var answered: [Session] = []
        for _ in 0..<min(DaemonLimits.sliceSessions, queues.askingCount)
        where writer.bytes < DaemonLimits.sliceBytes {
            guard let session = queues.popAsking() else { break }
            if !answered.isEmpty, isLate(session) {
                schedule(session)
            } else {
                try serve(session) { answered.append($0) }
            }
        }
        for session in answered { schedule(session) }
    }

    private func pushSlice(_ bytes: Int) throws {
        writer.beginSlice()
        for _ in 0..<DaemonLimits.sliceSessions where writer.bytes < bytes {
            guard let session = queues.popFollowing() else { return }
            try serve(session)
        }
    }

    /// Records how long each completed flush took to reach all its subscribers.
    private func recordFanOuts() {
        guard queues.fanOuts.count > 0 else { return }
        let now = clock.monotonicNanoseconds
        queues.endMeasurements { reporter.recordFanOut(nanoseconds: now - min(now, $0)) }
    }

    /// Returns whether the session must wait because the slice's time is used up; sessions before
    /// their hello don't wait.
    private func isLate(_ session: Session) -> Bool {
        session.isReady && writer.isLate(at: clock.monotonicNanoseconds)
    }

    /// Runs a session's turn: pushes, then answers, each up to the session's room and the turn's
    /// limits.
    func serve(_ session: Session) throws { try serve(session, then: schedule) }

    private func serve(_ session: Session, then next: (Session) -> Void) throws {
        if try serveShared(session) { return }
        if session.isWaitingToWrite { finish(session) }
        // Bytes accepted by its socket may have made room for the answers to its saves.
        guard !session.isClosing, !session.isWaitingToWrite else { return schedule(session) }
        if session.isReady { try pump(session) }
        var left = DaemonLimits.requestsInTurn
        while left > 0, !session.isClosing, session.hasRequest, !isLate(session),
            let (id, message) = session.dequeueRequest()
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

    /// Sends a subscriber its pushes, but answers none of its requests.
    func push(to session: Session) throws {
        guard session.isReady, !session.isClosing, !session.isWaitingToWrite else { return }
        if try serveShared(session) { return }
        try pump(session)
        finish(session)
    }

    /// Serves an idle session with a shared push batch; returns false if it must be served
    /// separately.
    private func serveShared(_ session: Session) throws -> Bool {
        guard session.isAtRest, !queues.lacksReadOnlyState(session) else { return false }
        switch try pushes.offerShared(session) {
        case .none: return false
        case .accepted(let bytes):
            writer.count(bytes)
            queues.updateInterest(session)
        case .queuedRest(let bytes):
            writer.count(bytes)
            finish(session)
            schedule(session)
        case .closed: disconnect(session, because: nil)
        }
        return true
    }

    /// Queues pushes up to the session's room and the turn's limits, then the answers held for
    /// them.
    func pump(_ session: Session) throws {
        guard !session.isClosing, !session.isWaitingToWrite else { return }
        do {
            try pushes.queue(session)
        } catch let error as TandemError {
            return endUnreadable(session, error)
        }
        if session.lagPosition == nil { session.subscription.source.rest() }
        if queues.lacksReadOnlyState(session) {
            queues.sendReadOnlyState(to: session, now: clock.wallMicroseconds)
        }
        session.pushProgress()
        session.answerHeld()
        syncs.answerReached(session)
    }

    /// Ends a session whose next transaction can't be read, after its queued bytes are written.
    private func endUnreadable(_ session: Session, _ error: TandemError) {
        finish(session)
        guard session.outboundBytes == 0, !session.isClosing else { return }
        guard error.code == .historyExpired else {
            return end(session, Ending(error, .unreadable))
        }
        journalMaintenance.countExpiredSession()
        end(session, Ending(error, .expired))
    }

    // MARK: Reads

    /// Sends the available messages of answers that clients are receiving.
    private func deliverReads() throws {
        for _ in 0..<queues.readingCount {
            guard let session = queues.popReading() else { return }
            if session.isWaitingToWrite { finish(session) }
            // The session must have received every push up to the answer's position.
            if session.isReady { try pump(session) }
            reads.deliver(session)
            finish(session)
            schedule(session)
        }
    }

    /// Passes the outcomes of searches to the batches, and writes the answers of failed reads.
    func completeReads() {
        for outcome in reads.drainSearches() { batches.accept(outcome) }
        for session in reads.drainAnswered() {
            finish(session)
            schedule(session)
        }
    }
}
