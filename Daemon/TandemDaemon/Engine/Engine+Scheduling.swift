import TandemWire

/// The assignment of sessions to queues, so that every session with work has a turn coming.
///
/// A session is served in its turn and then either closed or queued again by
/// ``Engine/schedule(_:)``. A session that waits for nothing is queued by whatever gives it work:
/// bytes, relevant transactions, a state change, or the end of a sync. So between two turns
/// ``Engine/isScheduled(_:)`` is true for every session; the tests check this after each turn.
extension Engine {
    /// The reason why a session waits, apart from its queued saves.
    enum Wait: Equatable {
        /// No work until its client sends something or other clients save.
        case nothing
        /// A full socket; the poller reports when it accepts bytes again.
        case socket
        /// A reader, which reports when it has a part of the answer.
        case reader
        /// A turn in the queue with this mark.
        case turn(Session.Marks)
    }

    /// Returns what a session waits for next.
    func wait(of session: Session) -> Wait {
        if session.isWaitingToWrite { return .socket }
        if session.lagPosition != nil || session.hasNews || lacksReadOnlyState(session) {
            return .turn(.pushes)
        }
        if session.read != nil { return session.hasAnswer ? .turn(.reads) : .reader }
        return session.hasQuestion ? .turn(.requests) : .nothing
    }

    /// Adds a session to the queues for its next work.
    func schedule(_ session: Session) {
        guard !session.isClosing else { return }
        if session.hasSave { saving.append(session) }
        if session.hasRows { batches.add(rowsOf: session) }
        updateInterest(session)
        switch wait(of: session) {
        case .nothing, .socket, .reader: break
        case .turn(.reads): reading.append(session)
        case .turn(.requests): asking.append(session)
        case .turn:
            following.append(session)
            if let lagPosition = session.lagPosition {
                fanOuts.waits(at: lagPosition, turns: following.drainTicket)
            }
        }
    }

    /// Queues a session whose socket accepts bytes again.
    func resume(_ session: Session) { following.append(session) }

    /// Whether a session, between two turns, is in a queue, or waits for an event that will queue
    /// it.
    ///
    /// A turn in any queue except `saving` serves all the session's needs and queues it again.
    func isScheduled(_ session: Session) -> Bool {
        if session.hasSave, !session.marks.contains(.saves) { return false }
        if session.hasRows, !session.marks.contains(.rows) { return false }
        switch wait(of: session) {
        case .nothing: return session.held.isEmpty
        case .reader: return session.read != nil
        case .turn(.reads) where session.read?.job?.hasNews ?? false: return true
        case .socket: return session.wants.contains(.write)
        case .turn: return !session.marks.isDisjoint(with: [.requests, .pushes, .reads])
        }
    }
}

extension Session {
    /// Whether a session at the tail has output that needs no further request.
    fileprivate var hasNews: Bool {
        needsProgressMark || outboundBytes > 0 || syncs.contains { $0.number <= sent }
    }
}
