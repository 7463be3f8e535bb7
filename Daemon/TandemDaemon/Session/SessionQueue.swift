import DequeModule

/// A FIFO queue of sessions in which each session occurs at most once.
///
/// A closed session stays in the queue until its turn.
struct SessionQueue {
    private let mark: Session.Marks
    private var sessions: Deque<Session> = []
    /// The number of sessions removed so far.
    private(set) var popCount: UInt64 = 0

    /// Creates an empty queue; `mark` is set on the sessions in the queue.
    init(_ mark: Session.Marks) { self.mark = mark }

    var isEmpty: Bool { sessions.isEmpty }
    var count: Int { sessions.count }
    /// The value of `popCount` once every session now in the queue has been removed.
    var drainTicket: UInt64 { popCount + UInt64(count) }

    /// Appends a session, unless it is already in the queue.
    mutating func append(_ session: Session) {
        guard !session.marks.contains(mark) else { return }
        session.enter(mark)
        sessions.append(session)
    }

    /// Removes and returns the first session.
    mutating func popFirst() -> Session? {
        guard let session = sessions.popFirst() else { return nil }
        popCount += 1
        session.leave(mark)
        return session
    }
}
