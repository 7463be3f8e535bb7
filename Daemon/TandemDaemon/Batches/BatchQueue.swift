import TandemModel
import TandemWire

/// The batch under way and those that wait: one of each user in turn, worked off whole.
///
/// Of a user, and of a connection, only so many may wait, so that nobody keeps the others out. Rows of a batch insert wait in
/// their session, which has one turn for each part of them; so they are bounded by what a connection may have waiting.
struct BatchQueue {
    /// Objects in one transaction of a batch, at most.
    var most = WireLimits.batchObjects
    /// What waits for a turn.
    private enum Waiting {
        case batch(BatchRun)
        /// The rows of a session.
        case rows(Session)

        var session: Session {
            switch self {
            case .batch(let run): run.session
            case .rows(let session): session
            }
        }

        var batch: BatchRun? { if case .batch(let run) = self { run } else { nil } }
        var user: UInt32 { session.peer.uid }
    }

    /// The one whose turn it is.
    private(set) var current: (any BatchWork)?
    /// In the order in which they came.
    private var waiting: [Waiting] = []
    /// At which turn users had theirs last; one entry for each that ever had one.
    private var served: [UInt32: UInt64] = [:]
    private var turns: UInt64 = 0

    /// Whether there are none.
    var isEmpty: Bool { current == nil && waiting.isEmpty }

    /// Whether one of them can go on in the daemon's next turn.
    var hasWork: Bool { current.map { !$0.isSearching } ?? !waiting.isEmpty }

    /// Takes a batch in.
    ///
    /// Throws `limitExceeded` with the limit's name, and counts it, when too many of its user or its connection wait, or
    /// too many bytes of them.
    mutating func add(
        _ run: BatchRun, _ limits: DaemonLimits, _ counts: LimitCounts
    ) throws(TandemError) {
        let ofUser = waiting.compactMap(\.batch).filter {
            $0.principal.uid == run.principal.uid
        }
        let ofSession = ofUser.count { $0.session === run.session }
        if ofSession >= limits.batchesPerConnection {
            let text = "\(ofSession) batches of this connection wait already"
            throw counts.refusal(.batchesPerConnection, limits, text + Self.advice)
        }
        if ofUser.count >= limits.batchesPerUser {
            let text = "\(ofUser.count) batches of this user wait already"
            throw counts.refusal(.batchesPerUser, limits, text + Self.advice)
        }
        let bytes = ofUser.reduce(run.bytes) { $0 + $1.bytes }
        if !ofUser.isEmpty, bytes > limits.inboundBytes {
            let text = "the batches of this user that wait would take \(bytes) bytes"
            throw counts.refusal(.inboundBytes, limits, text + Self.advice)
        }
        waiting.append(.batch(run))
    }

    /// Lets the rows of a session have a turn, unless one is coming already.
    mutating func add(rowsOf session: Session) {
        guard !session.marks.contains(.rows) else { return }
        session.marks.insert(.rows)
        waiting.append(.rows(session))
    }

    private static let advice = ", try again when one has ended"

    /// Ends the one under way.
    mutating func endCurrent() { current = nil }

    /// Drops those whose client has gone: it wants no more of them.
    mutating func dropClosed() {
        if waiting.contains(where: \.session.isClosing) {
            waiting.removeAll { $0.session.isClosing }
        }
        if current?.session.isClosing ?? false { current = nil }
    }

    /// The batch whose turn it is: when none is under way, the first of the user whose last turn is longest ago.
    mutating func next() -> (any BatchWork)? {
        while current == nil,
            let index = waiting.indices.min(by: { lastTurn($0) < lastTurn($1) })
        {
            let next = waiting.remove(at: index)
            guard let run = take(next) else { continue }
            turns += 1
            served[next.user] = turns
            current = run
        }
        return current
    }

    /// What has its turn; nil for a session that has no rows or whose client does not read, which comes again when it does.
    private mutating func take(_ next: Waiting) -> (any BatchWork)? {
        guard case .rows(let session) = next else { return next.batch }
        session.marks.remove(.rows)
        guard session.hasRows, let (insert, id) = session.takeRows() else { return nil }
        if session.hasRows { add(rowsOf: session) }
        return InsertRun(insert, id, session)
    }

    private func lastTurn(_ index: Int) -> (UInt64, Int) {
        (served[waiting[index].user] ?? 0, index)
    }
}
