/// Sessions in the order in which their turns come; each is in it once.
///
/// A closed session stays until its turn comes.
struct Turns {
    private let mark: Session.Marks
    private var sessions: [Session] = []
    private var start = 0
    /// How many turns were given.
    private(set) var taken: UInt64 = 0

    /// No sessions; the mark is set on those that are in it.
    init(_ mark: Session.Marks) { self.mark = mark }

    var isEmpty: Bool { start == sessions.count }
    var count: Int { sessions.count - start }
    /// How many turns are given when all who are in it have had theirs.
    var expected: UInt64 { taken + UInt64(count) }

    /// Lets a session have a turn behind all others, unless one is coming already.
    mutating func append(_ session: Session) {
        guard !session.marks.contains(mark) else { return }
        session.marks.insert(mark)
        sessions.append(session)
    }

    /// The session whose turn it is.
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
