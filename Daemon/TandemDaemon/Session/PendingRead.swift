import TandemModel
import TandemStore
import TandemWire

/// A read from its request to its answer.
///
/// It first waits for a checkpoint and a reader; then its job runs.
final class PendingRead {
    let request: RequestQueue.Waiting
    let purpose: ReadJob.Purpose
    /// The session that sent the request.
    let session: Session
    /// The lowest position at which the read may run.
    ///
    /// Everything that was pushed to the client, or acknowledged to any client before the request,
    /// is at or before this position.
    let needed: UInt64
    /// The transactions between the request's positions and its snapshot; nil for a read of the
    /// snapshot alone.
    let window: ReadWindow?
    /// The position of the model for which the request was compiled.
    let modelPosition: UInt64
    /// The job, and the committed bytes and the time when its snapshot was taken; nil for a waiting
    /// read.
    private var begun: (job: ReadJob, committedBytes: UInt64, time: UInt64)?
    /// The number of bytes counted for the read.
    private(set) var countedBytes = 0
    /// The interests of its session before the request, restored if the request is not answered;
    /// nil for a batch's search.
    let interestsBefore: Set<EntityTag>?
    /// Whether the answer is being encoded, so that it counts as an outgoing answer.
    private(set) var isAnswered = false
    /// Whether the beginning of the answer was sent.
    private(set) var hasSent = false
    /// Whether the read was answered or cancelled; nothing is counted for it any more.
    private(set) var isOver = false

    /// Creates a waiting read, for the request most recently removed from its session's queue.
    init(
        _ message: ClientMessage, _ id: UInt32, _ purpose: ReadJob.Purpose, of session: Session,
        needed: UInt64, modelPosition: UInt64
    ) {
        let lastPopped = session.input.lastPopped
        request = RequestQueue.Waiting(
            id: id, message: message, bytes: lastPopped.bytes, arrival: lastPopped.arrival)
        (self.purpose, self.session) = (purpose, session)
        (self.needed, self.modelPosition) = (needed, modelPosition)
        if case .answer(let read, _) = purpose {
            (window, interestsBefore) = (ReadWindow(read), session.interests)
        } else {
            (window, interestsBefore) = (nil, nil)
        }
    }

    /// The id of the request.
    var id: UInt32 { request.id }

    var message: ClientMessage { request.message }

    var job: ReadJob? { begun?.job }

    /// The number of bytes that were committed when the snapshot was taken, and the time of the
    /// snapshot.
    var start: (committedBytes: UInt64, time: UInt64)? {
        begun.map { ($0.committedBytes, $0.time) }
    }

    /// The approximate memory in bytes, without that of a running read (``ReadMemory``).
    var bytes: Int {
        guard let job else { return request.bytes + (window?.bytes ?? 0) }
        return request.bytes + (job.isReading ? 0 : job.heldBytes)
    }

    /// The approximate memory of the data read, without encoded messages, in bytes.
    var answerBytes: Int { job?.readBytes ?? 0 }

    /// The position after which all transactions are still needed; `.max` if none are.
    var retained: UInt64 { job == nil ? window?.position ?? .max : .max }

    /// Whether the read is a batch's search.
    var isSearch: Bool { if case .search = purpose { true } else { false } }

    /// Records that the read's job was created.
    func begin(_ job: ReadJob, committedBytes: UInt64, at time: UInt64) {
        precondition(self.job == nil, "A read is carried out once.")
        begun = (job, committedBytes, time)
    }

    /// Records that the answer is being encoded.
    func beginAnswer() {
        assert(job != nil && !isAnswered && !isOver, "A read that has a job is answered once.")
        isAnswered = true
    }

    /// Records that a message of the answer was sent.
    func didSend() {
        assert(job != nil && !isOver, "A read that is over is not answered.")
        hasSent = true
    }

    /// Records that the read was answered or cancelled.
    func end() { isOver = true }

    /// Replaces the number of counted bytes; returns the former one.
    func count(bytes: Int) -> Int {
        defer { countedBytes = bytes }
        return countedBytes
    }

    /// Adds transactions up to a position to the window, until `budget` is used up.
    ///
    /// Returns whether the window ends exactly there. Throws `historyExpired` if there are too many
    /// transactions for verdicts, and `limitExceeded` if there are more bytes than a read may hold.
    func extendWindow(
        to position: UInt64, _ model: CompiledModel, _ limits: DaemonLimits,
        _ counts: LimitCounters, _ budget: inout Int,
        _ transaction: (UInt64) throws -> EncodedTransaction
    ) throws -> Bool {
        guard let window else { return true }
        while window.position < position {
            guard budget > 0 else { return false }
            let next = try transaction(window.position + 1)
            try window.add(next, model)
            try window.check(limits, counts)
            // Decoding a kilobyte takes about as long as evaluating an object.
            budget -= 1 + next.bytes.count / 1_024
        }
        return window.position == position
    }
}

/// The reads that wait for a reader.
///
/// Users take turns, so that none of them blocks the others.
struct ReadQueue {
    private var waiting: [PendingRead] = []
    /// The number of the turn in which each user's most recent read was started.
    private var served: [UInt32: UInt64] = [:]
    private var turns: UInt64 = 0

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    /// Returns whether any waiting read satisfies a predicate.
    func contains(_ isIncluded: (PendingRead) -> Bool) -> Bool {
        waiting.contains(where: isIncluded)
    }

    /// Returns the highest position needed by the reads that satisfy a predicate.
    func needed(_ isIncluded: (PendingRead) -> Bool) -> UInt64 {
        waiting.lazy.filter(isIncluded).map(\.needed).max() ?? 0
    }

    mutating func add(_ read: PendingRead) {
        assert(!read.isOver && !contains { $0 === read }, "A read is queued once, before its end.")
        waiting.append(read)
    }

    mutating func remove(_ read: PendingRead) { waiting.removeAll { $0 === read } }

    /// Removes and returns the first ready read, beginning with the user served least recently.
    mutating func next(_ isReady: (PendingRead) throws -> Bool) rethrows -> PendingRead? {
        for read in waiting.sorted(by: { lastTurn($0) < lastTurn($1) }) where try isReady(read) {
            remove(read)
            turns += 1
            served[read.session.peer.uid] = turns
            return read
        }
        return nil
    }

    private func lastTurn(_ read: PendingRead) -> UInt64 { served[read.session.peer.uid] ?? 0 }
}
