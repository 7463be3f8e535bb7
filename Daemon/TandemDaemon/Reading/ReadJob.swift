import TandemIO
import TandemModel
import TandemStore
import TandemWire

/// A message of an answer as it goes out.
struct EncodedMessage: Sendable {
    var bytes: [UInt8]
    /// The position that the client is told by it.
    var position: UInt64?
    var isLast: Bool
}

/// A read on its way through the readers: the snapshot is read to the end, then the answer is encoded as the client takes it.
///
/// No snapshot is held while a client takes its time, and no reader waits: with ``bufferedBytes`` encoded the job rests until it is submitted again.
final class ReadJob: @unchecked Sendable {
    // `run` and `answer` are used by one thread at a time: a reader's from when it takes the job out of the pool's queue until
    // it notes in `state` that the job rests or is done, and the daemon's before and after. `state` has a lock of its own.

    /// What is done with what is read.
    enum Purpose {
        /// It answers a client's request.
        case answer(ReadQuestion, id: UInt32)
        /// A batch works it off.
        case search(BatchSearch)
    }

    /// How far a job is.
    struct Progress: Sendable {
        enum Phase: Sendable { case reading, encoding, resting, done }

        fileprivate(set) var phase = Phase.reading
        /// The position that is read.
        fileprivate(set) var position: UInt64 = 0
        /// The objects that a batch works off.
        fileprivate(set) var found: [ObjectReference]?
        /// Why there is no answer, or not the rest of it.
        fileprivate(set) var failure: (any Error)?
        /// About the bytes that it held when it failed.
        fileprivate(set) var freedBytes = 0
    }

    /// What both threads know.
    private struct State: Sendable {
        var progress = Progress()
        var messages: [EncodedMessage] = []
        var encodedBytes = 0
        /// About the bytes that it holds, without the encoded ones.
        var readBytes = 0
        /// The part of `readBytes` that is counted in ``ReadMemory``; 0 once the snapshot was read.
        var countedBytes = 0
        /// Why it has to end before its end.
        var ending: TandemError?
        /// The time that it waited for turns, in nanoseconds, and the start of the present wait.
        var waited: UInt64 = 0
        var waitsSince: UInt64?
        /// Whether there is something that the daemon's thread has not looked at.
        var hasNews = false
    }

    private let purpose: Purpose
    private let memory: ReadMemory
    /// Who asked.
    let user: UInt32
    private let state = Locked(State())
    private var run: ReadRun?
    private var snapshot: StoreSnapshot?
    private var answer: OutgoingAnswer?
    private let partBytes: Int

    /// So many encoded bytes wait for the client before the job rests.
    private var bufferedBytes: Int { 4 * partBytes }

    /// A job that has not begun, on a snapshot, which it ends, or on the thread of the view's owner.
    init(
        _ purpose: Purpose, of user: UInt32, _ run: ReadRun, snapshot: StoreSnapshot?,
        memory: ReadMemory = ReadMemory()
    ) {
        self.purpose = purpose
        self.memory = memory
        self.user = user
        self.run = run
        self.snapshot = snapshot
        partBytes = run.limits.partBytes
        let windowBytes = run.window?.bytes ?? 0
        note { state in
            _ = memory.change(from: 0, to: windowBytes)
            (state.readBytes, state.countedBytes) = (windowBytes, windowBytes)
        }
    }

    /// Records the memory of the read, and throws if the read has to end.
    private static func check(
        _ held: Int, _ state: Locked<State>, _ memory: ReadMemory, _ limits: DaemonLimits,
        _ counts: LimitCounts
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
                    "all reads hold \(all) bytes, this one \(held); fetch less at a time, or again when "
                        + "others are done")
            }
            return state.ending != nil
        }
        if isEnding { throw StoreError(.interrupted, "the read was ended") }
    }

    /// If all reads together exceed the limit, only those end that hold more than this fraction of it.
    private static let readsAtLimit = 32

    // MARK: On a reader's thread

    /// Reads, and encodes what there is room for; calls `announce` when there is something for the daemon's thread.
    ///
    /// Passes its turn on when that is over; without a turn it runs to its end. With `copy`, rows are
    /// read by the reader's copy of the model.
    func advance(
        during turn: ReaderTurn? = nil, by copy: ModelCopy? = nil, _ announce: (ReadJob) -> Void
    ) {
        note { state in
            guard let since = state.waitsSince, let turn else { return }
            (state.waited, state.waitsSince) = (state.waited + turn.now - since, nil)
        }
        do {
            if let run {
                defer { endReading() }
                try read(run, turn, copy)
            }
            while try encodeNext() {
                announceNews(announce)
                if answer != nil, turn?.isOver == true { turn?.passOn() }
            }
            note { [answer] in $0.progress.phase = answer == nil ? .done : .resting }
        } catch {
            answer = nil
            note { state in
                state.progress.failure = state.ending ?? error
                state.progress.freedBytes = state.readBytes
                (state.progress.phase, state.readBytes) = (.done, 0)
            }
        }
        announceNews(announce)
    }

    private func endReading() {
        note { [memory] state in
            _ = memory.change(from: state.countedBytes, to: 0)
            state.countedBytes = 0
        }
        run = nil
        snapshot?.end()
        snapshot = nil
    }

    private func read(_ run: ReadRun, _ turn: ReaderTurn?, _ copy: ModelCopy?) throws {
        note { $0.progress.position = run.position }
        var run = run
        if let snapshot, let copy {
            run.model = copy.of(run.model)
            snapshot.use(copy: run.model)
        }
        let (state, limits, counts) = (state, run.limits, run.counts)
        let windowBytes = run.window?.bytes ?? 0
        run.check = { [memory] held throws(StoreError) in
            try Self.check(held + windowBytes, state, memory, limits, counts)
            guard let turn, turn.isOver else { return }
            Self.passOn(turn, state)
        }
        switch purpose {
        case .answer(let question, let id):
            let found = try run.answer(copy == nil ? question : question.compiled(in: run.model))
            answer = OutgoingAnswer(found, id, partBytes: partBytes)
        case .search(let search):
            let found = try search.select(
                from: try run.references(search.request.compiled(in: run.model)), run.limits,
                run.counts)
            note { $0.progress.found = found }
        }
        note { [answer] state in
            state.progress.phase = .encoding
            state.readBytes = answer?.bytes ?? 0
        }
    }

    /// Passes the turn on, and records the time until the next turn as waited.
    private static func passOn(_ turn: ReaderTurn, _ state: Locked<State>) {
        let since = turn.now
        state.withLock { $0.waitsSince = since }
        turn.passOn()
        state.withLock { state in
            (state.waited, state.waitsSince) = (state.waited + turn.now - since, nil)
        }
    }

    /// Encodes the next message; false where there is none, or no room for it.
    private func encodeNext() throws -> Bool {
        guard answer != nil, try hasRoom() else { return false }
        guard let message = try answer?.nextMessage() else {
            answer = nil
            return false
        }
        if message.isLast { answer = nil }
        note { [answer] state in
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

    private func note(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    /// Announces news that are not announced yet.
    private func announceNews(_ announce: (ReadJob) -> Void) {
        let isNew = state.withLock { state in
            defer { state.hasNews = true }
            return !state.hasNews
        }
        if isNew { announce(self) }
    }

    // MARK: On the daemon's thread

    /// How far it is, as of now; what comes later is announced again.
    func takeNews() -> Progress {
        state.withLock { state in
            state.hasNews = false
            return state.progress
        }
    }

    /// Ends it, at the latest before the next object is looked at; it is done with the error as its failure.
    func end(_ error: TandemError) { note { $0.ending = $0.ending ?? error } }

    /// Ends the job, and drops its messages.
    ///
    /// Returns true if it is done with that, false if a reader has it.
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

    /// Drops what the job holds, its snapshot included, if no reader will take it any more.
    func discard() {
        endReading()
        answer = nil
    }

    /// The next message that is encoded.
    func takeMessage() -> EncodedMessage? {
        state.withLock { state in
            guard !state.messages.isEmpty else { return nil }
            let message = state.messages.removeFirst()
            state.encodedBytes -= message.bytes.count
            return message
        }
    }

    /// Whether it announced something that the daemon's thread has yet to look at.
    var hasNews: Bool { state.withLock(\.hasNews) }

    /// Whether messages wait to be taken.
    var hasMessages: Bool { state.withLock { !$0.messages.isEmpty } }

    /// Whether it ended without an answer, or without the rest of it.
    var hasFailed: Bool { state.withLock { $0.progress.failure != nil } }

    /// About the bytes that it holds.
    var heldBytes: Int { state.withLock { $0.readBytes + $0.encodedBytes } }

    /// About the bytes of what was read, without the messages that are encoded.
    var readBytes: Int { state.withLock(\.readBytes) }

    /// Whether it has a thread of the pool; false while it waits for its client, and when it is done.
    var isCarriedOut: Bool {
        state.withLock { $0.progress.phase == .reading || $0.progress.phase == .encoding }
    }

    /// Records the time at which it begins to wait for a turn.
    func waits(since time: UInt64) { note { $0.waitsSince = time } }

    /// The time that it waited for turns until `now`, in nanoseconds.
    func waited(until now: UInt64) -> UInt64 {
        state.withLock { state in
            state.waited + (state.waitsSince.map { now - min(now, $0) } ?? 0)
        }
    }

    /// Whether its snapshot is being read.
    var isReading: Bool { state.withLock { $0.progress.phase == .reading } }

    /// Whether it goes on when it is submitted again, which it is worth by now; then it is.
    func takeRest() -> Bool {
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
    private var parts: FetchedParts?
    private let list: ListInParts?
    private let partBytes: Int

    init(_ answer: ReadRun.Answer, _ id: UInt32, partBytes: Int) {
        self.id = id
        self.partBytes = partBytes
        list = answer.list
        if case .fetched(let fetched) = answer.message {
            parts = FetchedParts(fetched, partBytes: partBytes)
        } else {
            whole = answer.message
        }
    }

    /// About the bytes that it holds.
    var bytes: Int { (parts?.bytes ?? 0) + (list?.heldBytes ?? 0) }

    /// The next message; nil when there is none.
    mutating func nextMessage() throws -> EncodedMessage? {
        guard let message = next() else { return nil }
        var bytes: [UInt8] = []
        do {
            try FrameEncoder.encode(message, id: id, into: &bytes)
        } catch {
            throw TandemError(.limitExceeded, "the answer is too large: \(error)")
        }
        return EncodedMessage(
            bytes: bytes, position: message.announcedPosition, isLast: message.isLastOfAnswer)
    }

    private mutating func next() -> DaemonMessage? {
        if let whole {
            self.whole = nil
            return whole
        }
        if let message = parts?.nextMessage() { return message }
        guard let list, let places = list.nextPart(bytes: partBytes) else { return nil }
        return .part(FetchedPart(places: places, hasMore: !list.isTaken))
    }
}
