import TandemWire

/// The read-only state as announced to sessions.
struct ReadOnlyAnnouncement {
    private(set) var state = ReadOnlyState()
    /// The number of changes announced so far; a session remembers the last one that it was sent.
    private(set) var changes: UInt64 = 0

    /// Adopts the committer's state; returns false if it has already been announced.
    mutating func update(to current: ReadOnlyState) -> Bool {
        // Called in every round, so the texts are created only if there is something to announce.
        guard current.isReadOnly || state.isReadOnly, current.reason != state.reason else {
            return false
        }
        state = current
        changes += 1
        return true
    }

    /// Returns whether a session has not been sent the latest state.
    func isMissing(in session: Session) -> Bool {
        session.isReady && session.subscription.sentState != changes
    }

    /// Records that a session's welcome was sent, which contains the state but not the reason for
    /// it.
    func recordWelcome(of session: Session) {
        assert(changes > 0 || !state.isReadOnly, "A read-only state was announced.")
        session.didSend(state: state.isReadOnly ? 0 : changes)
    }

    /// Sends the latest state, or defers it until the session has room again.
    func send(to session: Session, now: Int64) {
        guard isMissing(in: session), session.hasRoom else { return }
        session.didSend(state: changes)
        session.push(
            StatePush(
                isReadOnly: state.isReadOnly, since: state.since ?? now, reason: state.reason))
    }
}
