import TandemModel
import TandemStore
import TandemWire

/// A read from when it was asked for until it is answered: it waits for a checkpoint and a reader, then its job is carried out.
final class PendingRead {
    /// The number of the request.
    let id: UInt32
    let message: ClientMessage
    let purpose: ReadJob.Purpose
    /// Who asked.
    let session: Session
    /// The lowest position that it may be read at: what its client was told, and what was acknowledged to anybody before it asked.
    let needed: UInt64
    /// What happened between the positions that it names and its snapshot; nil for a read of the snapshot alone.
    let window: ReadWindow?
    /// When the model was installed that the question is of.
    let modelPosition: UInt64
    /// The bytes of the question.
    let questionBytes: Int
    /// When the question came.
    let arrival: UInt64
    /// What the committer had committed when its snapshot began, in bytes, and when that was.
    private(set) var start: (committedBytes: UInt64, time: UInt64)?
    private(set) var job: ReadJob?
    /// The bytes that are counted for it.
    var countedBytes = 0
    /// The interests of its session before the request, restored if the request is not answered.
    var interestsBefore: Set<EntityTag>?
    /// Whether its answer is being encoded, so that it counts among those that are sent.
    var isAnswered = false
    /// Whether its client was sent the beginning of the answer.
    var hasSent = false
    /// Whether it was answered or given up, so that nothing is counted for it any more.
    var isOver = false

    init(
        _ message: ClientMessage, _ id: UInt32, _ purpose: ReadJob.Purpose, of session: Session,
        needed: UInt64, modelPosition: UInt64
    ) {
        (self.message, self.id, self.purpose, self.session) = (message, id, purpose, session)
        (self.needed, self.modelPosition) = (needed, modelPosition)
        (questionBytes, arrival) = (session.askedBytes, session.askedAt)
        if case .answer(let question, _) = purpose {
            window = ReadWindow(question)
        } else {
            window = nil
        }
    }

    /// About the bytes that it holds, without those of a read that is being carried out (``ReadMemory``).
    var bytes: Int {
        guard let job else { return questionBytes + (window?.bytes ?? 0) }
        return questionBytes + (job.isReading ? 0 : job.heldBytes)
    }

    /// About the bytes of what was read for it, without the messages that are encoded.
    var answerBytes: Int { job?.readBytes ?? 0 }

    /// It needs every transaction behind this one.
    var retained: UInt64 { job == nil ? window?.position ?? .max : .max }

    /// Whether it is a batch's.
    var isSearch: Bool { if case .search = purpose { true } else { false } }

    /// Notes that it is carried out.
    func begin(_ job: ReadJob, committedBytes: UInt64, at time: UInt64) {
        precondition(self.job == nil, "A read is carried out once.")
        self.job = job
        start = (committedBytes, time)
    }

    /// Takes in transactions up to a position, until `budget` is used up.
    ///
    /// Returns whether the window ends exactly there. Throws `historyExpired` where verdicts would be about more than one
    /// question may be, and `limitExceeded` for more bytes than a read may hold.
    func follow(
        to position: UInt64, _ model: CompiledModel, _ limits: DaemonLimits,
        _ counts: LimitCounts, _ budget: inout Int,
        _ transaction: (UInt64) throws -> EncodedTransaction
    ) throws -> Bool {
        guard let window else { return true }
        while window.position < position {
            guard budget > 0 else { return false }
            let next = try transaction(window.position + 1)
            try window.add(next, model)
            try window.check(limits, counts)
            // To decode a kilobyte takes about as long as to look at an object.
            budget -= 1 + next.bytes.count / 1_024
        }
        return window.position == position
    }
}

/// Reads that wait for a reader: users take turns, so that none keeps the others out.
struct ReadQueue {
    private var waiting: [PendingRead] = []
    /// At which turn users had theirs last.
    private var served: [UInt32: UInt64] = [:]
    private var turns: UInt64 = 0

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    /// Whether one of them is of a kind.
    func contains(_ isIncluded: (PendingRead) -> Bool) -> Bool {
        waiting.contains(where: isIncluded)
    }

    /// The highest position that one of a kind needs.
    func needed(_ isIncluded: (PendingRead) -> Bool) -> UInt64 {
        waiting.lazy.filter(isIncluded).map(\.needed).max() ?? 0
    }

    mutating func add(_ read: PendingRead) { waiting.append(read) }

    mutating func remove(_ read: PendingRead) { waiting.removeAll { $0 === read } }

    /// Takes the first that is ready, of the user who has waited longest for a turn.
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
