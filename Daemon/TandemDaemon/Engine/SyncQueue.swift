import TandemModel
import TandemWire

/// Syncs: requests that wait until their session has received everything up to a position.
///
/// A session keeps its syncs; this queue finds the sessions whose next sync is due, without
/// scanning the others.
final class SyncQueue {
    /// The sessions by the next position that they wait for.
    private var positions = IndexedHeap()
    /// The sessions by their next deadline.
    private var deadlines = IndexedHeap()

    /// The number of sessions with syncs.
    var count: Int {
        assert(positions.count <= deadlines.count, "Each waiting sync has a deadline.")
        return deadlines.count
    }

    /// The lowest position awaited by any session that was not woken; nil if there is none.
    var nextPosition: UInt64? { positions.first?.number }

    /// The earliest deadline of a waiting sync; nil if there is none.
    var nextDeadline: UInt64? { deadlines.first?.number }

    /// Adds a sync of a session.
    func add(_ sync: Sync, _ id: UInt32, _ session: Session, now: UInt64) {
        let wait = UInt64(sync.timeoutMilliseconds) * 1_000_000
        session.syncs.add(
            WaitingSyncs.Waiting(number: sync.number, id: id, deadline: now + wait))
        update(session)
    }

    /// Removes a sync; returns false if the session has none with this id.
    func remove(_ id: UInt32, of session: Session) -> Bool {
        guard session.syncs.remove(id) else { return false }
        update(session)
        return true
    }

    /// Removes all syncs of a session.
    func removeAll(of session: Session) {
        session.syncs.removeAll()
        update(session)
    }

    /// Answers the syncs of a session whose positions are reached.
    func answerReached(_ session: Session) {
        guard session.lagPosition == nil, !session.syncs.isEmpty else { return }
        for sync in session.syncs.waiting where sync.number <= session.sent {
            session.answer(.synced(position: session.sent), to: sync.id)
        }
        session.syncs.removeReached(session.sent)
        update(session)
    }

    /// Removes and returns a session that waits for a position up to `last`.
    ///
    /// The session's turn sets the next position that it waits for.
    func popReached(_ last: UInt64) -> UInt64? {
        guard let first = positions.first, first.number <= last else { return nil }
        positions.set(first.id, nil)
        return first.id
    }

    /// Answers the expired syncs of the first session that has any; returns the session.
    ///
    /// `last` is the position at the tail.
    func expireFirst(_ sessions: [UInt64: Session], now: UInt64, last: UInt64) -> Session? {
        while let first = deadlines.first, first.number <= now {
            guard let session = sessions[first.id] else {
                deadlines.set(first.id, nil)
                continue
            }
            expire(session, now, last)
            return session
        }
        return nil
    }

    private func expire(_ session: Session, _ now: UInt64, _ last: UInt64) {
        for sync in session.syncs.waiting where sync.deadline <= now {
            let error = TandemError.notReached(sync.number, last: last)
            session.answer(.failure(error), to: sync.id)
        }
        session.syncs.removeExpired(at: now)
        update(session)
    }

    private func update(_ session: Session) {
        positions.set(session.id, session.syncs.nextPosition)
        deadlines.set(session.id, session.syncs.nextDeadline)
    }
}
