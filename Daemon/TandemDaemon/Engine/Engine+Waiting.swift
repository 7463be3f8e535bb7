import TandemModel
import TandemWire

/// Answers that must follow pushes, and syncs that wait for a position.
extension Engine {
    /// Sends held answers whose pushes are queued, and answers syncs whose position is reached.
    func release(_ session: Session) {
        while let first = session.held.first, first.position <= session.sent {
            session.answer(first.message, to: first.id)
            session.held.removeFirst()
        }
        guard session.lagPosition == nil, !session.syncs.isEmpty else { return }
        for sync in session.syncs where sync.number <= session.sent {
            session.answer(.synced(position: session.sent), to: sync.id)
        }
        session.syncs.removeAll { $0.number <= session.sent }
        updateSyncs(session)
    }

    /// Updates the queues `syncs` and `deadlines` for a session.
    func updateSyncs(_ session: Session) {
        syncs.set(session.id, session.syncs.lazy.map(\.number).min())
        deadlines.set(session.id, session.syncs.lazy.map(\.deadline).min())
    }

    /// Queues the sessions whose awaited position is reached, without a scan of the others.
    func wakeSyncs() {
        let last = committer.position
        while let first = syncs.first, first.number <= last {
            // The session's turn sets the next position it waits for.
            syncs.set(first.id, nil)
            if let session = sessions[first.id] { following.append(session) }
        }
    }

    /// Answers syncs whose timeout has expired.
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
            let error = TandemError.notReached(sync.number, last: committer.position)
            session.answer(.failure(error), to: sync.id)
        }
        session.syncs.removeAll { $0.deadline <= now }
        updateSyncs(session)
        // If the session waited for its socket and all bytes are accepted now, the poller will not
        // report the socket again.
        finish(session)
        schedule(session)
    }

    /// The earliest deadline of a waiting sync; nil if there is none.
    var nextDeadline: UInt64? { deadlines.first?.number }
}
