/// A FIFO queue of sessions in which each session occurs at most once.
///
/// A closed session stays in the queue until its turn.
struct Turns {
    private let mark: Session.Marks
    private var sessions: [Session] = []
    private var start = 0
    /// The number of sessions removed so far.
    private(set) var taken: UInt64 = 0

    /// Creates an empty queue; `mark` is set on the sessions in the queue.
    init(_ mark: Session.Marks) { self.mark = mark }

    var isEmpty: Bool { start == sessions.count }
    var count: Int { sessions.count - start }
    /// The value of `taken` after every session now in the queue is removed.
    var expected: UInt64 { taken + UInt64(count) }

    /// Appends a session, unless it is in the queue already.
    mutating func append(_ session: Session) {
        guard !session.marks.contains(mark) else { return }
        session.marks.insert(mark)
        sessions.append(session)
    }

    /// Removes and returns the first session.
    mutating func popFirst() -> Session? {
        guard start < sessions.count else { return nil }
        let session = sessions[start]
        start += 1
        taken += 1
        session.marks.remove(mark)
        if start == sessions.count {
            sessions.removeAll(keepingCapacity: true)
            start = 0
        } else if start > 1_024, start > sessions.count / 2 {
            sessions.removeFirst(start)
            start = 0
        }
        return session
    }
}
