import TandemModel
import TandemWire

/// The queues of sessions, which ensure that every session with work gets a turn.
///
/// A session is served in its turn and then either closed or queued again by ``add(_:)``. A session
/// without work is queued by the event that gives it work: bytes, relevant transactions, a state
/// change, or the end of a sync. So between two turns ``isScheduled(_:)`` is true for every
/// session; the tests check this after each turn.
///
/// State:
/// - `saving`, `asking`, `reading`, `following`: queues of the sessions with saves, with other
///   requests, with chunks of an answer from a reader, and with any output. A session whose socket
///   is full is in none of the queues for output; it resumes when the poller reports its socket as
///   writable.
/// - `fanOuts`: flushes whose pushes have not reached all subscribers, timed by the turns of
///   `following`.
final class SessionQueues {
    private var saving = SessionQueue(.saves)
    private var asking = SessionQueue(.requests)
    private var reading = SessionQueue(.reads)
    private(set) var following = SessionQueue(.pushes)
    private(set) var fanOuts = FanOutTracker()
    private(set) var announcement = ReadOnlyAnnouncement()
    /// Sessions whose poller interest may have changed since the last ``drainRewatched()``.
    private var rewatched: [Session] = []

    /// The reason why a session waits, apart from its queued saves.
    enum Wait: Equatable {
        /// No work until its client sends something or other clients save.
        case nothing
        /// A full socket; the poller reports when it accepts bytes again.
        case socket
        /// A reader, which reports when it has encoded a chunk of the answer.
        case reader
        /// A turn in the queue with this mark.
        case turn(Session.Marks)
    }

    /// Returns what a session waits for next.
    func wait(of session: Session) -> Wait {
        if session.isWaitingToWrite { return .socket }
        if session.lagPosition != nil || session.hasOutput || lacksReadOnlyState(session) {
            return .turn(.pushes)
        }
        if session.read != nil { return session.hasAnswer ? .turn(.reads) : .reader }
        return session.hasRequest ? .turn(.requests) : .nothing
    }

    /// Queues a session for its next piece of work.
    func add(_ session: Session) {
        assert(!session.isClosing, "A closed session gets no further turn.")
        if session.hasSave { saving.append(session) }
        updateInterest(session)
        switch wait(of: session) {
        case .nothing, .socket, .reader: break
        case .turn(.reads): reading.append(session)
        case .turn(.requests): asking.append(session)
        case .turn:
            following.append(session)
            if let lagPosition = session.lagPosition {
                fanOuts.waits(at: lagPosition, turns: following.popCountAfterDraining)
            }
        }
    }

    /// Queues a session that has output.
    func queueOutput(of session: Session) { following.append(session) }

    /// Queues a session that may get a chunk of an answer.
    func read(_ session: Session) { reading.append(session) }

    /// Whether any session is queued.
    var hasWork: Bool {
        !saving.isEmpty || !asking.isEmpty || !following.isEmpty || !reading.isEmpty
    }

    /// Whether saves wait for the next round.
    var hasSaves: Bool { !saving.isEmpty }

    var savingCount: Int { saving.count }
    var askingCount: Int { asking.count }
    var readingCount: Int { reading.count }

    func popSaving() -> Session? { saving.popFirst() }
    func popAsking() -> Session? { asking.popFirst() }
    func popReading() -> Session? { reading.popFirst() }
    func popFollowing() -> Session? { following.popFirst() }

    /// Returns whether a session, between two turns, is in a queue or waits for an event that will
    /// queue it.
    ///
    /// A turn in any queue except `saving` does all the work of the session, and queues it again.
    func isScheduled(_ session: Session) -> Bool {
        if session.hasSave, !session.marks.contains(.saves) { return false }
        if session.hasInsertChunks, !session.marks.contains(.insertChunks) { return false }
        switch wait(of: session) {
        case .nothing: return session.output.held.isEmpty
        case .reader: return session.read != nil
        case .turn(.reads) where session.read?.job?.hasUnseenProgress ?? false: return true
        case .socket: return session.wants.contains(.write)
        case .turn: return !session.marks.isDisjoint(with: [.requests, .pushes, .reads])
        }
    }

    // MARK: Fan-out

    /// Begins to measure how long a flush takes to reach the sessions that are queued for output.
    func beginFanOut(after position: UInt64, upTo end: UInt64, at now: UInt64) {
        assert(position < end, "A flush has transactions.")
        guard !following.isEmpty else { return }
        fanOuts.begin(after: position, upTo: end, at: now, turns: following.popCountAfterDraining)
    }

    /// Ends the measurement of each flush that has reached all its subscribers; passes its start to
    /// `body`.
    func endMeasurements(_ body: (UInt64) -> Void) { fanOuts.end(turns: following.popCount, body) }

    // MARK: State

    /// Adopts the committer's read-only state; returns false if it has already been announced.
    func announce(_ state: ReadOnlyState) -> Bool { announcement.update(to: state) }

    /// Returns whether a session has not been sent the latest read-only state.
    func lacksReadOnlyState(_ session: Session) -> Bool { announcement.isMissing(in: session) }

    /// Sends the latest read-only state, or defers it until the session has room again.
    func sendReadOnlyState(to session: Session, now: Int64) {
        announcement.send(to: session, now: now)
    }

    // MARK: Poller

    /// Schedules a session for ``drainRewatched()`` if the poller watches for the wrong events.
    func updateInterest(_ session: Session) {
        if session.wants != session.output.watched { rewatched.append(session) }
    }

    /// Returns the sessions whose poller interest may have changed since the last call.
    func drainRewatched() -> [Session] {
        defer { rewatched.removeAll(keepingCapacity: true) }
        return rewatched
    }
}

extension Session {
    /// Whether a session at the tail has output that needs no further request.
    fileprivate var hasOutput: Bool {
        subscription.needsProgressMark || outboundBytes > 0 || syncs.hasReached(sent)
    }
}
