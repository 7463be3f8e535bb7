import TandemModel
import TandemWire

/// The running batch and the waiting ones; users take turns, and each batch runs to completion.
///
/// The number of waiting batches is limited per user and per connection, so that no user blocks the
/// others. Chunks of a batch insert wait in their session, which gets one turn for each chunk. The
/// number of chunks is limited only by the bytes that a connection may have queued.
struct BatchQueue {
    /// The maximum number of objects in one transaction of a batch.
    var most = WireLimits.batchObjects
    /// An entry that waits for its turn.
    private enum Waiting {
        case batch(BatchChangeTask)
        /// The batch-insert chunks of a session.
        case chunks(Session)

        var session: Session {
            switch self {
            case .batch(let run): run.session
            case .chunks(let session): session
            }
        }

        var batch: BatchChangeTask? { if case .batch(let run) = self { run } else { nil } }
        var user: UInt32 { session.peer.uid }
    }

    /// The running batch.
    private(set) var current: (any BatchTask)?
    /// The waiting entries, in order of arrival.
    private var waiting: [Waiting] = []
    /// The turn count at each user's last turn; users are never removed.
    private var served: [UInt32: UInt64] = [:]
    private var turns: UInt64 = 0

    /// Whether no batch is running or waiting.
    var isEmpty: Bool { current == nil && waiting.isEmpty }

    /// Whether a batch can proceed in the daemon's next turn.
    var hasWork: Bool { current.map { !$0.isSearching } ?? !waiting.isEmpty }

    /// Queues a batch.
    ///
    /// Throws `limitExceeded` with the limit's name, and counts it, if too many batches of the user
    /// or the connection are waiting, or if their messages are too large in total.
    mutating func add(
        _ run: BatchChangeTask, _ limits: DaemonLimits, _ counts: LimitCounters
    ) throws(TandemError) {
        let ofUser = waiting.compactMap(\.batch).filter {
            $0.principal.uid == run.principal.uid
        }
        let ofSession = ofUser.count { $0.session === run.session }
        if ofSession >= limits.batchesPerConnection {
            let text = "\(ofSession) batches of this connection are already waiting"
            throw counts.refusal(.batchesPerConnection, limits, text + Self.advice)
        }
        if ofUser.count >= limits.batchesPerUser {
            let text = "\(ofUser.count) batches of this user are already waiting"
            throw counts.refusal(.batchesPerUser, limits, text + Self.advice)
        }
        let bytes = ofUser.reduce(run.bytes) { $0 + $1.bytes }
        if !ofUser.isEmpty, bytes > limits.inboundBytes {
            let text = "the waiting batches of this user would use \(bytes) bytes"
            throw counts.refusal(.inboundBytes, limits, text + Self.advice)
        }
        waiting.append(.batch(run))
    }

    /// Queues the batch-insert chunks of a session, unless the session is already queued.
    mutating func add(chunksOf session: Session) {
        guard !session.marks.contains(.insertChunks) else { return }
        session.enter(.insertChunks)
        waiting.append(.chunks(session))
    }

    private static let advice = "; try again after one has ended"

    /// Removes the running batch.
    mutating func endCurrent() {
        assert(current?.isOver ?? false, "A running batch is removed only when it is over.")
        current = nil
    }

    /// Removes batches whose client has disconnected.
    mutating func dropClosed() {
        if waiting.contains(where: \.session.isClosing) {
            waiting.removeAll { $0.session.isClosing }
        }
        if current?.session.isClosing ?? false { current = nil }
    }

    /// Returns the running batch, or starts the first waiting one of the user served least
    /// recently.
    mutating func next() -> (any BatchTask)? {
        while current == nil,
            let index = waiting.indices.min(by: { lastTurn($0) < lastTurn($1) })
        {
            let next = waiting.remove(at: index)
            guard let run = dequeue(next) else { continue }
            turns += 1
            assert(!run.session.isClosing, "Batches of closed sessions have already been dropped.")
            served[next.user] = turns
            current = run
        }
        return current
    }

    /// Returns the batch of an entry that was removed from the queue.
    ///
    /// Returns nil for a session that has no chunks, or whose client does not read; it is queued
    /// again when the client does.
    private mutating func dequeue(_ next: Waiting) -> (any BatchTask)? {
        guard case .chunks(let session) = next else { return next.batch }
        session.leave(.insertChunks)
        guard session.hasInsertChunks, let (insert, id) = session.input.popInsertChunk() else {
            return nil
        }
        if session.hasInsertChunks { add(chunksOf: session) }
        return BatchInsertTask(insert, id, session)
    }

    private func lastTurn(_ index: Int) -> (UInt64, Int) {
        (served[waiting[index].user] ?? 0, index)
    }
}
