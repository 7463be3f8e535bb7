import TandemIO
import TandemWire

extension Engine {
    /// Serves an idle session with a shared push batch; returns false if it must be served
    /// separately.
    func serveAlike(_ session: Session) throws -> Bool {
        guard session.isAtRest, session.toldAbility == told.changes,
            let run = try run(for: session)
        else { return false }
        let taken: Int
        switch session.offer(run) {
        case .bytes(let count): taken = count
        case .wouldBlock: taken = 0
        case .closed:
            disconnect(session, because: nil)
            return true
        }
        sliceBytes += taken
        guard taken == run.bytes.count else {
            try resume(session, after: taken)
            return true
        }
        session.took(run)
        subscribers.markCurrent(session)
        updateInterest(session)
        return true
    }

    /// Queues the rest of a batch, by reference, after the socket accepted only `taken` bytes.
    private func resume(_ session: Session, after taken: Int) throws {
        try queuePushes(session)
        session.drop(taken)
        finish(session)
        schedule(session)
    }

    /// Returns the batch that takes a session to the tail.
    ///
    /// Returns nil if there is none, or no other session to share it with.
    private func run(for session: Session) throws -> SharedPushBatch? {
        guard let place = session.place else { return nil }
        let end = committer.position
        if let run, run.place == place, run.end == end { return run.isComplete ? run : nil }
        guard let group = session.group, group.count > 1, place.lagPosition < end,
            end - place.lagPosition <= DaemonLimits.turnTransactions,
            let first = committer.ring.first, place.lagPosition + 1 >= first
        else { return nil }
        let limit = min(DaemonLimits.runBytes, limits.outboundBytes)
        let made = try SharedPushBatch(from: place, to: end, atMost: limit) {
            try body(at: $0, for: session)
        }
        run = made
        return made.isComplete ? made : nil
    }
}
