import TandemWire

/// Where a session waits for its next turn, so that none with something to be done waits nowhere.
///
/// A session that has a turn is served and then put where it waits by ``Engine/schedule(_:)``, or it is closed. What comes to one that waits
/// for nothing (bytes, news, a state, the end of a sync) does the same. So between two turns ``Engine/isScheduled(_:)`` is
/// true for every session, which the tests look at after each turn.
extension Engine {
    /// What a session waits for, apart from the turns of its saves.
    enum Wait: Equatable {
        /// There is nothing to be done for it until its client sends something, or others save.
        case nothing
        /// Its socket is full; the poller tells when it takes bytes again.
        case socket
        /// A reader, who tells when there is something of an answer.
        case reader
        /// Its turn in the queue with this mark.
        case turn(Session.Marks)
    }

    /// What a session waits for next.
    func wait(of session: Session) -> Wait {
        if session.isWaitingToWrite { return .socket }
        if session.behind != nil || session.hasNews || isToldLess(session) { return .turn(.pushes) }
        if session.read != nil { return session.hasAnswer ? .turn(.reads) : .reader }
        return session.hasQuestion ? .turn(.requests) : .nothing
    }

    /// Puts a session where it waits for what can be done for it next.
    func schedule(_ session: Session) {
        guard !session.isClosing else { return }
        if session.hasSave { saving.append(session) }
        if session.hasRows { batches.add(rowsOf: session) }
        rewatch(session)
        switch wait(of: session) {
        case .nothing, .socket, .reader: break
        case .turn(.reads): reading.append(session)
        case .turn(.requests): asking.append(session)
        case .turn:
            following.append(session)
            if let behind = session.behind {
                fanOuts.waits(at: behind, turns: following.expected)
            }
        }
    }

    /// Goes on with a session whose socket takes bytes again, when its turn comes.
    func resume(_ session: Session) { following.append(session) }

    /// Whether a session, between two turns, is where something makes it go on with what it waits for.
    ///
    /// A turn in any queue but that of saves serves it with everything and puts it where it belongs.
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
    /// Whether, at the journal's end, it is to be written to without having asked anything more.
    fileprivate var hasNews: Bool {
        owesProgress || outboundBytes > 0 || syncs.contains { $0.number <= sent }
    }
}
