import DequeModule
import TandemIO
import TandemModel
import TandemStore
import TandemWire

/// An encoded message of an answer.
struct EncodedMessage: Sendable {
    var bytes: [UInt8]
    /// The position that the message announces to the client.
    var position: UInt64?
    var isLast: Bool
}

/// A read that readers carry out: first all data is read from a snapshot, then the answer is
/// encoded at the client's pace.
///
/// A slow client holds no snapshot and blocks no reader: when ``bufferedBytes`` bytes are encoded,
/// the job rests until it is submitted again.
final class ReadJob: @unchecked Sendable {
    // `run` and `answer` are used by one thread at a time. A reader's thread uses them from the
    // time it pops the job off the pool's queue until it sets the phase in `state` to resting or
    // done. The daemon's thread uses them before and after. `state` has its own lock.

    /// The purpose of a read.
    enum Purpose {
        /// The answer to a client's request.
        case answer(CompiledRead, id: UInt32)
        /// The objects that a batch processes.
        case search(BatchSearch)
    }

    /// The deadline of a read on the daemon's thread, which serves no other client during the read.
    struct Deadline {
        private let clock: any Clock
        private let end: UInt64

        /// Creates the deadline of a read that begins now.
        init(_ clock: any Clock) {
            self.clock = clock
            end = clock.monotonicNanoseconds + DaemonLimits.shortReadNanoseconds
        }

        /// The error with which the read ends; nil before the deadline.
        fileprivate var error: TandemError? {
            guard clock.monotonicNanoseconds > end else { return nil }
            return TandemError(
                .timeout,
                "the read took more than \(DaemonLimits.shortReadNanoseconds / 1_000_000) ms, too "
                    + "long while the disk is full; free disk space, or read less at a time")
        }
    }

    /// The progress of a job.
    struct Progress: Sendable {
        enum Phase: Sendable { case reading, encoding, resting, done }

        fileprivate(set) var phase = Phase.reading
        /// The position of the snapshot.
        fileprivate(set) var position: UInt64 = 0
        /// The objects that a batch processes.
        fileprivate(set) var found: BatchSearch.Result?
        /// The reason why the answer is missing or incomplete.
        fileprivate(set) var failure: (any Error)?
        /// The approximate memory that the job held when it failed, in bytes.
        fileprivate(set) var freedBytes = 0
    }

    /// The state shared by both threads.
    private struct State: Sendable {
        var progress = Progress()
        var messages: Deque<EncodedMessage> = []
        var encodedBytes = 0
        /// The approximate memory of the job without encoded messages, in bytes.
        var readBytes = 0
        /// The part of `readBytes` that is counted in ``ReadMemory``; 0 after the snapshot was
        /// read.
        var countedBytes = 0
        /// The error with which the job must end early.
        var ending: TandemError?
        /// The total time spent waiting for turns, in nanoseconds, and the start of the current
        /// wait.
        var waited: UInt64 = 0
        var waitsSince: UInt64?
        /// Whether the job has progress that the daemon's thread has not seen.
        var hasUnseenProgress = false
    }

    private let purpose: Purpose
    private let memory: ReadMemory
    /// The user who sent the request.
    let user: UInt32
    private let state = Locked(State())
    private var run: ReadRun?
    private var snapshot: StoreSnapshot?
    private var answer: OutgoingAnswer?
    private let chunkBytes: Int

    /// The number of encoded bytes at which the job rests.
    private var bufferedBytes: Int { 4 * chunkBytes }

    /// Creates a job that reads a snapshot and then ends it.
    ///
    /// Without a snapshot, the job reads the store's open transaction, on the daemon's thread.
    init(
        _ purpose: Purpose, of user: UInt32, _ run: ReadRun, snapshot: StoreSnapshot?,
        memory: ReadMemory = ReadMemory()
    ) {
        self.purpose = purpose
        self.memory = memory
        self.user = user
        self.run = run
        self.snapshot = snapshot
        chunkBytes = run.limits.chunkBytes
        let windowBytes = run.window?.bytes ?? 0
        update { state in
            _ = memory.change(from: 0, to: windowBytes)
            (state.readBytes, state.countedBytes) = (windowBytes, windowBytes)
        }
    }

    /// Records the memory of the read, and throws if the read must end.
    private static func check(
        _ held: Int, _ state: Locked<State>, _ memory: ReadMemory, _ limits: DaemonLimits,
        _ counts: LimitCounters
    ) throws(StoreError) {
        let isEnding = state.withLock { state in
            let all = memory.change(from: state.countedBytes, to: held)
            (state.readBytes, state.countedBytes) = (held, held)
            guard state.ending == nil else { return true }
            if held > limits.readBytes {
                state.ending = counts.refusal(
                    .readBytes, limits, "the read holds \(held) bytes; fetch less at a time")
            } else if all > limits.readBytes, held > limits.readBytes / Self.readsAtLimit {
                state.ending = counts.refusal(
                    .readBytes, limits,
                    "all reads hold \(all) bytes, this one \(held); fetch less at a time, or again after "
                        + "others have ended")
            }
            return state.ending != nil
        }
        if isEnding { throw ended }
    }

    /// The error with which a check ends the read; the reason is in ``State/ending``.
    private static var ended: StoreError { StoreError(.interrupted, "the read was ended") }

    /// If all reads together exceed the limit, only those that hold more than this fraction of it
    /// are ended.
    private static let readsAtLimit = 32

    // MARK: On a reader's thread

    /// Reads, and encodes messages while there is room; calls `announce` when the daemon's thread
    /// has progress to handle.
    ///
    /// When `turn` is over, the job passes it on; without a turn it runs to completion. With
    /// `copy`, rows are read with the reader's copy of the model. With `deadline`, a read that
    /// takes longer ends with `timeout`.
    func advance(
        during turn: (any ReadTurn)? = nil, by copy: ModelCopy? = nil,
        until deadline: Deadline? = nil,
        _ announce: (ReadJob) -> Void
    ) {
        update { state in
            guard let since = state.waitsSince, let turn else { return }
            (state.waited, state.waitsSince) = (state.waited + turn.now - since, nil)
        }
        do {
            if let run {
                defer { endReading() }
                try read(run, turn, copy, deadline)
            }
            while try encodeNext(turn) {
                announceNews(announce)
                if answer != nil, turn?.isOver == true { turn?.passOn() }
            }
            update { [answer] in $0.progress.phase = answer == nil ? .done : .resting }
        } catch {
            answer = nil
            update { state in
                state.progress.failure = state.ending ?? error
                state.progress.freedBytes = state.readBytes
                (state.progress.phase, state.readBytes) = (.done, 0)
            }
        }
        announceNews(announce)
    }

    private func endReading() {
        update { [memory] state in
            _ = memory.change(from: state.countedBytes, to: 0)
            state.countedBytes = 0
        }
        run = nil
        snapshot?.end()
        snapshot = nil
    }

    private func read(
        _ run: ReadRun, _ turn: (any ReadTurn)?, _ copy: ModelCopy?, _ deadline: Deadline?
    ) throws {
        update { $0.progress.position = run.position }
        var run = run
        if let snapshot, let copy {
            run.model = copy.of(run.model)
            snapshot.use(copy: run.model)
        }
        let (state, limits, counts) = (state, run.limits, run.counts)
        let windowBytes = run.window?.bytes ?? 0
        run.check = { [memory] held throws(StoreError) in
            if let error = deadline?.error { state.withLock { $0.ending = $0.ending ?? error } }
            try Self.check(held + windowBytes, state, memory, limits, counts)
            guard let turn, turn.isOver else { return }
            Self.passOn(turn, state)
        }
        switch purpose {
        case .answer(let read, let id):
            let found = try run.answer(copy == nil ? read : read.compiled(in: run.model))
            answer = OutgoingAnswer(found, id, chunkBytes: chunkBytes)
        case .search(let search):
            let found = try search.result(of: run)
            update { $0.progress.found = found }
        }
        update { [answer] state in
            state.progress.phase = .encoding
            state.readBytes = answer?.bytes ?? 0
        }
    }

    /// Passes the turn on, and records the time until the next turn as waiting time.
    private static func passOn(_ turn: any ReadTurn, _ state: Locked<State>) {
        let since = turn.now
        state.withLock { $0.waitsSince = since }
        turn.passOn()
        state.withLock { state in
            (state.waited, state.waitsSince) = (state.waited + turn.now - since, nil)
        }
    }

    /// Encodes the next message; returns false if there is none, or no room for it.
    ///
    /// Passes the turn on while the message's objects are sorted.
    private func encodeNext(_ turn: (any ReadTurn)?) throws -> Bool {
        guard answer != nil, try hasRoom() else { return false }
        let message = try answer?.nextMessage { [state] () throws(StoreError) in
            if state.withLock({ $0.ending != nil }) { throw Self.ended }
            if let turn, turn.isOver { turn.passOn() }
        }
        guard let message else {
            answer = nil
            return false
        }
        if message.isLast { answer = nil }
        update { [answer] state in
            state.messages.append(message)
            state.encodedBytes += message.bytes.count
            state.readBytes = answer?.bytes ?? 0
        }
        return true
    }

    private func hasRoom() throws -> Bool {
        let (ending, encoded) = state.withLock { ($0.ending, $0.encodedBytes) }
        if let ending { throw ending }
        return encoded < bufferedBytes
    }

    private func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    /// Announces progress, unless an announcement is pending.
    private func announceNews(_ announce: (ReadJob) -> Void) {
        let isNew = state.withLock { state in
            defer { state.hasUnseenProgress = true }
            return !state.hasUnseenProgress
        }
        if isNew { announce(self) }
    }

    // MARK: On the daemon's thread

    /// Returns the current progress; later progress is announced again.
    func consumeProgress() -> Progress {
        state.withLock { state in
            state.hasUnseenProgress = false
            return state.progress
        }
    }

    /// Ends the job with an error, at the latest before the next object is evaluated.
    func end(_ error: TandemError) { update { $0.ending = $0.ending ?? error } }

    /// Ends the job, and drops its messages.
    ///
    /// Returns true if the job is then done, and false if a reader still runs it.
    func cancel() -> Bool {
        end(TandemError(.cancelled, "the read was cancelled"))
        let isDone = state.withLock { state in
            (state.messages, state.encodedBytes) = ([], 0)
            guard state.progress.phase == .resting || state.progress.phase == .done else {
                return false
            }
            (state.progress.phase, state.readBytes) = (.done, 0)
            return true
        }
        if isDone { answer = nil }
        return isDone
    }

    /// Releases everything that the job holds, including its snapshot; only for a job that no
    /// reader will run again.
    func discard() {
        endReading()
        answer = nil
    }

    /// Removes and returns the next encoded message.
    func dequeueMessage() -> EncodedMessage? {
        state.withLock { state in
            guard !state.messages.isEmpty else { return nil }
            let message = state.messages.removeFirst()
            state.encodedBytes -= message.bytes.count
            return message
        }
    }

    /// Whether the job announced progress that the daemon's thread has not seen.
    var hasUnseenProgress: Bool { state.withLock(\.hasUnseenProgress) }

    /// Whether any encoded message is queued.
    var hasMessages: Bool { state.withLock { !$0.messages.isEmpty } }

    /// Whether the job failed before its answer was complete.
    var hasFailed: Bool { state.withLock { $0.progress.failure != nil } }

    /// The approximate memory of the job in bytes.
    var heldBytes: Int { state.withLock { $0.readBytes + $0.encodedBytes } }

    /// The approximate memory of the data read, without encoded messages, in bytes.
    var readBytes: Int { state.withLock(\.readBytes) }

    /// Whether the job is queued or running in the pool; false while it rests, and after it is
    /// done.
    var isSubmitted: Bool {
        state.withLock { $0.progress.phase == .reading || $0.progress.phase == .encoding }
    }

    /// Records the time at which the job begins to wait for a turn.
    func waits(since time: UInt64) { update { $0.waitsSince = time } }

    /// Returns the total time spent waiting for turns until `now`, in nanoseconds.
    func waited(until now: UInt64) -> UInt64 {
        state.withLock { state in
            state.waited + (state.waitsSince.map { now - min(now, $0) } ?? 0)
        }
    }

    /// Whether the job is reading its snapshot.
    var isReading: Bool { state.withLock { $0.progress.phase == .reading } }

    /// Ends the job's rest if at least half of its buffer is free; the caller then submits the job
    /// again.
    ///
    /// Returns false if the job is not resting, or the buffer is still too full.
    func endRest() -> Bool {
        state.withLock { state in
            guard state.progress.phase == .resting, state.encodedBytes <= bufferedBytes / 2 else {
                return false
            }
            state.progress.phase = .encoding
            return true
        }
    }
}

/// An answer that is encoded message by message.
private struct OutgoingAnswer {
    private let id: UInt32
    private var whole: DaemonMessage?
    private var parts: AnswerChunker?
    private let list: ChunkedList?
    private let chunkBytes: Int

    init(_ answer: ReadRun.Answer, _ id: UInt32, chunkBytes: Int) {
        self.id = id
        self.chunkBytes = chunkBytes
        list = answer.list
        if case .fetched(let fetched) = answer.message {
            parts = AnswerChunker(fetched, chunkBytes: chunkBytes)
        } else {
            whole = answer.message
        }
    }

    /// The approximate size in bytes.
    var bytes: Int { (parts?.bytes ?? 0) + (list?.heldBytes ?? 0) }

    /// Returns the next message; nil after the last one.
    ///
    /// Calls `check` periodically, and throws its errors.
    mutating func nextMessage(
        _ check: () throws(StoreError) -> Void
    ) throws -> EncodedMessage? {
        guard let message = try next(check) else { return nil }
        var bytes: [UInt8] = []
        do {
            try FrameEncoder.encode(message, id: id, into: &bytes)
        } catch {
            throw TandemError(.limitExceeded, "the answer is too large: \(error)")
        }
        return EncodedMessage(
            bytes: bytes, position: message.announcedPosition, isLast: message.isLastOfAnswer)
    }

    private mutating func next(
        _ check: () throws(StoreError) -> Void
    ) throws(StoreError) -> DaemonMessage? {
        if let whole {
            self.whole = nil
            return whole
        }
        if let message = parts?.nextMessage() { return message }
        guard let list, let places = try list.nextChunk(bytes: chunkBytes, check) else {
            return nil
        }
        return .part(FetchedChunk(places: places, hasMore: !list.isTaken))
    }
}
