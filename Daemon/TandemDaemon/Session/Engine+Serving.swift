import TandemIO
import TandemModel
import TandemWire

/// What sessions wait for, in slices, so that a saver never waits for all of them.
extension Engine {
    /// Serves a number of sessions that asked and a number that follow; the others have their turns in later slices.
    func serveSlice() throws {
        sliceBegan = clock.monotonicNanoseconds
        try deliverReads()
        try answerSlice()
        // Who follows gets as much as is saved, or it falls behind for as long as that goes on.
        try serve(DaemonLimits.sliceSessions, max(DaemonLimits.sliceBytes, news)) {
            following.popFirst()
        }
        news = 0
        noteFanOuts()
    }

    /// Answers who asked, until that took too long; who asks more comes behind those who were not heard.
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

    /// Notes how long it took from each flush until everybody was served what it brought.
    private func noteFanOuts() {
        guard fanOuts.count > 0 else { return }
        let now = clock.monotonicNanoseconds
        fanOuts.end(turns: following.taken) {
            metrics.fanOut.note(nanoseconds: now - min(now, $0))
        }
    }

    private func serve(_ count: Int, _ bytes: Int, _ next: () -> Session?) throws {
        sliceBytes = 0
        for _ in 0..<count where sliceBytes < bytes {
            guard let session = next() else { return }
            try serve(session)
        }
    }

    /// Whether what was asked took so long that saves go first; those who greet are not kept waiting.
    private func isLate(_ session: Session) -> Bool {
        session.isReady
            && clock.monotonicNanoseconds >= sliceBegan + DaemonLimits.sliceNanoseconds
    }

    /// A session's turn: what is new to it, then answers, each as far as there is room and one turn goes.
    func serve(_ session: Session) throws { try serve(session, then: schedule) }

    private func serve(_ session: Session, then next: (Session) -> Void) throws {
        if try serveAlike(session) { return }
        if session.isWaitingToWrite { finish(session) }
        // What its socket took may have made room for the answers to its saves.
        guard !session.isClosing, !session.isWaitingToWrite else { return schedule(session) }
        if session.isReady { try pump(session) }
        var left = DaemonLimits.requestsInTurn
        while left > 0, !session.isClosing, session.hasQuestion, !isLate(session),
            let (id, message) = session.takeQuestion()
        {
            let start = clock.monotonicNanoseconds
            try answer(message, id, session)
            committer.note(request: start, until: clock.monotonicNanoseconds)
            left -= 1
        }
        finish(session)
        next(session)
    }

    // MARK: Pushes

    /// Queues what is new to a session as far as it has room and one turn goes; then what waited for that.
    func pump(_ session: Session) throws {
        guard !session.isClosing, !session.isWaitingToWrite else { return }
        do {
            try queuePushes(session)
        } catch let error as TandemError {
            // What is queued goes out whole before.
            finish(session)
            guard session.outboundBytes == 0, !session.isClosing else { return }
            // What one client needs and can't be read is not the others' trouble.
            guard error.code == .historyExpired else { return end(session, error, .unreadable) }
            retention.counters.expiredSessions += 1
            return end(session, error, .expired)
        }
        if session.behind == nil { session.source.rest() }
        tellAbility(session)
        markProgress(session)
        release(session)
    }

    /// Queues pushes as far as there is room and one turn goes.
    func queuePushes(_ session: Session) throws {
        let last = committer.position
        var left = DaemonLimits.turnTransactions
        let room = min(DaemonLimits.turnBytes, limits.outboundBytes)
        while left > 0, let sent = session.behind, session.outboundBytes < room {
            // Of what is behind the model nothing interests whom no entity does.
            let isIdle = session.interests.isEmpty && sent >= committer.store.modelPosition
            guard sent < last, !isIdle else { return audiences.reachedEnd(session) }
            if let body = try body(at: sent + 1, for: session) { session.push(body) }
            session.behind = sent + 1
            left -= 1
        }
        if session.behind == last { audiences.reachedEnd(session) }
    }

    /// From the ring the body is made once for all who follow the same; who reads the segments is mostly alone there.
    func body(at position: UInt64, for session: Session) throws -> PushBody? {
        guard let audience = session.audience else { return nil }
        if let first = committer.ring.first, position >= first {
            return try cache.body(at: position, for: audience) {
                try session.source.transaction(at: position, committer.ring)
            }
        }
        let transaction = try session.source.transaction(at: position, committer.ring)
        return try audience.part(of: transaction).map { try PushBody($0) }
    }

    /// Lets sessions know how far the journal is where nothing was of interest to them.
    ///
    /// Done after a checkpoint, so at most a few times a second: what they resume from and show is never far behind.
    func markProgress() {
        for session in sessions.values where session.isReady && !session.interests.isEmpty {
            guard session.machine.cursor < session.sent else { continue }
            session.owesProgress = true
            if !session.isWaitingToWrite { following.append(session) }
        }
    }

    private func markProgress(_ session: Session) {
        guard session.owesProgress else { return }
        session.owesProgress = false
        session.pushProgress()
    }

    // MARK: State

    /// Tells sessions whether saves are taken, when that has changed since it was last asked.
    func tellAbility() {
        // Asked in every round, so nothing is put into words where there is nothing to tell.
        guard committer.ability.isReadOnly || told.ability.isReadOnly,
            committer.ability.reason != told.ability.reason
        else { return }
        told = (committer.ability, told.changes + 1)
        supervision.tell(summary)
        for session in sessions.values where session.isReady && !session.isWaitingToWrite {
            following.append(session)
        }
    }

    /// Whether a session has yet to hear of the latest state.
    func isToldLess(_ session: Session) -> Bool {
        session.isReady && session.toldAbility != told.changes
    }

    /// A session without room hears of the latest state when it has some again.
    private func tellAbility(_ session: Session) {
        guard isToldLess(session), session.hasRoom else { return }
        session.toldAbility = told.changes
        session.push(
            StatePush(
                isReadOnly: told.ability.isReadOnly,
                since: told.ability.since ?? clock.wallMicroseconds, reason: told.ability.reason))
    }
}
