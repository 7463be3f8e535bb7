import TandemModel
import TandemWire

/// Answers that wait for pushes to go first, and syncs that wait for a position.
extension Engine {
    /// Sends answers that waited for pushes, and answers syncs that are reached.
    func release(_ session: Session) {
        while let first = session.held.first, first.position <= session.sent {
            session.answer(first.message, to: first.id)
            session.held.removeFirst()
        }
        guard session.behind == nil, !session.syncs.isEmpty else { return }
        for sync in session.syncs where sync.number <= session.sent {
            session.answer(.synced(position: session.sent), to: sync.id)
        }
        session.syncs.removeAll { $0.number <= session.sent }
        noteSyncs(session)
    }

    /// Notes what a session's syncs wait for next.
    func noteSyncs(_ session: Session) {
        syncs.set(session.id, session.syncs.lazy.map(\.number).min())
        deadlines.set(session.id, session.syncs.lazy.map(\.deadline).min())
    }

    /// Gives a turn to sessions whose syncs are reached; nobody else is looked at.
    func wakeSyncs() {
        let last = committer.position
        while let first = syncs.first, first.number <= last {
            // Its turn notes what it waits for then.
            syncs.set(first.id, nil)
            if let session = sessions[first.id] { following.append(session) }
        }
    }

    /// Answers syncs whose time is up.
    func expireSyncs() throws {
        guard deadlines.first != nil else { return }
        let now = clock.monotonicNanoseconds
        while let first = deadlines.first, first.number <= now {
            guard let session = sessions[first.id] else {
                deadlines.set(first.id, nil)
                continue
            }
            expireSyncs(of: session, now)
        }
    }

    private func expireSyncs(of session: Session, _ now: UInt64) {
        for sync in session.syncs where sync.deadline <= now {
            let text =
                "position \(sync.number) was not reached in time; the journal ends at "
                + "\(committer.position)"
            session.answer(.failure(TandemError(.timeout, text)), to: sync.id)
        }
        session.syncs.removeAll { $0.deadline <= now }
        noteSyncs(session)
        // It may have waited for its socket, which took everything now: the poller would not tell of it.
        finish(session)
        schedule(session)
    }

    /// The earliest deadline of a waiting sync, if any.
    var nextDeadline: UInt64? { deadlines.first?.number }
}
