import TandemIO
import TandemModel
import TandemStore
import TandemWire

/// Reads: small ones are answered immediately from the open write transaction, all others by
/// readers from a snapshot.
///
/// The dispatcher collects the sessions whose reads failed, and the engine writes their answers. It
/// also collects the outcomes of searches, which the engine passes to the batches.
///
/// State:
/// - `waiting`: reads that wait for a checkpoint and a reader.
/// - `running`: reads that readers are carrying out, or whose answers are not completely encoded
///   yet.
/// - `bytes`: the memory held for all of them and for answers being sent.
final class ReadDispatcher {
    private let committer: Committer
    private let clock: any Clock
    private let reporter: ClientReporter
    private let admission: Admission
    private let journalMaintenance: JournalMaintenance
    private let pushes: PushDispatcher
    private let queues: SessionQueues
    /// The executor of reads on snapshots.
    private(set) var readers: any ReadExecutor = ReadsInTurns()
    private(set) var waiting = ReadQueue()
    private(set) var running: [PendingRead] = []
    /// The time to retry reads that wait for a checkpoint or for a read transaction; nil if there
    /// are none.
    private(set) var due: UInt64?
    /// The maximum number of objects that a read may examine if it is answered immediately, without
    /// a reader.
    var smallReadWork = DaemonLimits.smallReadWork
    private(set) var bytes: ReadByteCount
    /// The sessions whose reads failed since the last ``drainAnswered()``.
    private var answered: [Session] = []
    private var searches: [SearchOutcome] = []

    init(
        _ committer: Committer, clock: any Clock, reporter: ClientReporter, admission: Admission,
        journalMaintenance: JournalMaintenance, pushes: PushDispatcher, queues: SessionQueues
    ) {
        (self.committer, self.clock, self.reporter) = (committer, clock, reporter)
        (self.admission, self.journalMaintenance, self.pushes) = (
            admission, journalMaintenance, pushes
        )
        self.queues = queues
        bytes = ReadByteCount(clock)
    }

    private var limits: DaemonLimits { committer.limits }
    private var limitCounters: LimitCounters { committer.limitCounters }

    /// Replaces the executor before any read was submitted.
    func setReaders(_ readers: any ReadExecutor) {
        assert(running.isEmpty, "No read runs before the daemon serves clients.")
        self.readers = readers
    }

    /// Returns the sessions whose reads failed since the last call; their answers are queued.
    func drainAnswered() -> [Session] {
        guard !answered.isEmpty else { return [] }
        defer { answered = [] }
        return answered
    }

    /// Returns the outcomes of searches since the last call.
    func drainSearches() -> [SearchOutcome] {
        guard !searches.isEmpty else { return [] }
        defer { searches = [] }
        return searches
    }

    /// Answers a request, or queues it for a reader.
    func answer(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        let answerer = Answerer(
            committer: committer, session: session, journalMaintenance: journalMaintenance,
            smallReadWork: smallReadWork)
        guard message.isRead else {
            session.answer(try answerer.answer(message), to: id)
            return reporter.recordAnswered(
                message, session, since: session.input.lastPopped.arrival)
        }
        if case .fetch(let fetch) = message,
            let answer = try StoreError.mappingReadErrors(committer, { try answerer.lookUp(fetch) })
        {
            pushes.subscribe(session, to: fetch.interests)
            session.answer(answer, to: id)
            return reporter.recordAnswered(
                message, session, since: session.input.lastPopped.arrival)
        }
        let compiled = try answerer.compile(message)
        if let answer = try StoreError.mappingReadErrors(
            committer, { try answerer.answerSmallRead(compiled) })
        {
            pushes.subscribe(session, to: compiled.interests)
            session.answer(answer, to: id)
            return reporter.recordAnswered(
                message, session, since: session.input.lastPopped.arrival)
        }
        let read = PendingRead(
            message, id, .answer(compiled, id: id), of: session, needed: committer.position,
            modelPosition: committer.store.modelPosition)
        session.begin(read)
        // All earlier transactions were pushed under the former interests, and the answer is at
        // this position or later.
        pushes.subscribe(session, to: compiled.interests)
        if !startable()(read) { limitCounters.record(.readerThreads) }
        waiting.add(read)
        bytes.recount(read)
    }

    /// Queues the search for the objects of a batch.
    func add(_ search: PendingRead) {
        assert(search.isSearch && search.job == nil, "A batch's search is queued once.")
        waiting.add(search)
    }

    // MARK: Beginning

    /// Submits waiting reads to the readers while there is room.
    ///
    /// Makes a checkpoint for them if they need one and it is due.
    func start() throws {
        readers.work()
        due = nil
        guard hasReadToStart else { return }
        if waiting.needed(startable()) > committer.store.checkpointPosition {
            due = try committer.checkpointForReads()
        }
        var budget = limits.sliceReads
        var failed: [(PendingRead, TandemError)] = []
        while true {
            let isAdmitted = startable()
            let next = try waiting.next { read in
                guard isAdmitted(read) else { return false }
                return try isReady(read, &budget, &failed)
            }
            guard let read = next else { break }
            do {
                try begin(read)
                // Other requests are served between two reads on the daemon's thread.
                if !committer.canCommit { break }
            } catch let error as StoreError where error.code == .noReader {
                limitCounters.record(.storeReaders)
                // Frees the readers of killed processes.
                _ = try committer.store.checkReaders()
                waiting.add(read)
                // Another process may hold the LMDB readers, and does not signal when it releases
                // them.
                due = clock.monotonicNanoseconds + DaemonLimits.noReaderNanoseconds
                break
            }
        }
        // Failed only now, because the queue must not change during the search above.
        for (read, error) in failed { fail(read, error) }
        assert(due == nil || !waiting.isEmpty, "A retry is scheduled only while reads wait.")
    }

    /// Returns whether a read can begin: its position is committed, and its window is complete.
    private func isReady(
        _ read: PendingRead, _ budget: inout Int, _ failed: inout [(PendingRead, TandemError)]
    ) throws -> Bool {
        let position = committer.canCommit ? committer.store.checkpointPosition : committer.position
        guard read.needed <= position, let model = committer.store.model else {
            return false
        }
        do {
            // Transactions before and after the change of the model are decoded by different
            // models.
            guard read.modelPosition == committer.store.modelPosition else {
                throw Self.otherModel(read)
            }
            let source = read.session.readSource
            return try read.extendWindow(to: position, model, limits, limitCounters, &budget) {
                try source.transaction(at: $0, committer.ring)
            }
        } catch let error as TandemError {
            if !failed.contains(where: { $0.0 === read }) { failed.append((read, error)) }
            return false
        }
    }

    /// Returns a predicate for the waiting reads that the readers may start now.
    ///
    /// A user's read may start only if the user has fewer running reads than there are free places,
    /// so that some places remain for other users. A batch has one search at a time, and other
    /// searches wait for it.
    private func startable() -> (PendingRead) -> Bool {
        let room = readers.room
        let running = running.lazy.filter { $0.job?.isSubmitted == true }
        let counts = Dictionary(running.map { ($0.session.peer.uid, 1) }, uniquingKeysWith: +)
        return { $0.isSearch ? room > 0 : counts[$0.session.peer.uid, default: 0] < room }
    }

    /// Whether readers may start any of the waiting reads.
    var hasReadToStart: Bool { !waiting.isEmpty && waiting.contains(startable()) }

    private func begin(_ read: PendingRead) throws {
        read.session.readSource.rest()
        guard let model = committer.store.model else {
            preconditionFailure("A read needs a model.")
        }
        // If nothing can be committed, the read uses the open transaction on this thread. It delays
        // no saves, because none are accepted, and other requests only for a short time.
        let snapshot = committer.canCommit ? try committer.store.snapshot() : nil
        let run = ReadRun(
            view: snapshot ?? committer.store, model: model, limits: limits, counts: limitCounters,
            window: read.window)
        let job = ReadJob(
            read.purpose, of: read.session.peer.uid, run, snapshot: snapshot, memory: bytes.memory)
        let now = clock.monotonicNanoseconds
        read.begin(job, committedBytes: committer.committedBytes, at: now)
        running.append(read)
        bytes.recount(read)
        guard snapshot == nil else { return readers.submit(job) }
        job.advance(until: ReadJob.Deadline(clock)) { _ in }
        handleProgress(read, job.consumeProgress())
    }

    private static func otherModel(_ read: PendingRead) -> TandemError {
        if read.isSearch {
            return TandemError(
                .schemaMismatch, "the model changed during the batch; continue it")
        }
        // A client that requests verdicts then fetches again, as after any other model change.
        let isVerdicts = if case .verdicts = read.message { true } else { false }
        return TandemError(
            isVerdicts ? .historyExpired : .schemaMismatch,
            "the model changed during the read; read again")
    }

    // MARK: Progress

    /// Handles the progress of jobs, and ends those that take too long.
    func handleProgress() {
        for job in readers.drainProgress() {
            guard let read = running.first(where: { $0.job === job }) else { continue }
            handleProgress(read, job.consumeProgress())
        }
        endOldSnapshots()
    }

    private func handleProgress(_ read: PendingRead, _ state: ReadJob.Progress) {
        if state.phase == .done {
            running.removeAll { $0 === read }
            bytes.recordFreed(state.freedBytes)
        }
        guard !read.isOver else { return }
        bytes.recount(read)
        if read.isSearch { return finishSearch(read, state) }
        guard read.session.read === read else { return }
        if !read.isAnswered, state.phase != .reading, state.failure == nil {
            read.beginAnswer()
            makeRoom(for: read)
        }
        queues.read(read.session)
    }

    /// Records the outcome of a search, for the batch that requested it.
    private func finishSearch(_ read: PendingRead, _ state: ReadJob.Progress) {
        guard state.phase == .done else { return }
        read.end()
        bytes.uncount(read)
        let result: SearchOutcome.Result =
            if let found = state.found {
                .found(found, position: state.position)
            } else {
                .failed(clientError(state.failure))
            }
        searches.append(SearchOutcome(read: read, result: result))
    }

    /// Queues the available messages of the answer that a client is receiving.
    func deliver(_ session: Session) {
        guard let read = session.read, let job = read.job, !session.isClosing else { return }
        let state = job.consumeProgress()
        // An answer is sent after the pushes of all transactions that it includes.
        guard session.hasRoom, session.sent >= state.position else { return }
        // The client has the new model by now, and would decode the rows with it.
        guard read.hasSent || read.modelPosition == committer.store.modelPosition else {
            return reject(read, Self.otherModel(read))
        }
        session.recordAccepted(at: clock.monotonicNanoseconds)
        while session.outboundBytes < limits.chunkBytes, let message = job.dequeueMessage() {
            session.answer(message, to: read.id)
            read.didSend()
            guard message.isLast else { continue }
            drop(session)
            return reporter.recordAnswered(read.message, session, since: read.request.arrival)
        }
        if let failure = state.failure, !job.hasMessages {
            return reject(read, clientError(failure))
        }
        bytes.recount(read)
        if job.endRest() { readers.submit(job) }
    }

    /// Returns the error that a client receives.
    private func clientError(_ failure: (any Error)?) -> TandemError {
        switch failure {
        case let error as TandemError: return error
        case let error as StoreError:
            return error.clientError(limits, limitCounters)
                ?? TandemError(.storage, "\(error.message); run `tandem check`")
        default:
            return TandemError(
                .storage, "the read failed: \(failure.map { "\($0)" } ?? "no answer")")
        }
    }

    /// Ends a read with an error, and collects its session, or the outcome if it is a search.
    private func fail(_ read: PendingRead, _ error: TandemError) {
        if read.isSearch {
            waiting.remove(read)
            read.end()
            searches.append(SearchOutcome(read: read, result: .failed(error)))
            return bytes.uncount(read)
        }
        reject(read, error)
        answered.append(read.session)
    }

    /// Answers a read with an error.
    private func reject(_ read: PendingRead, _ error: TandemError) {
        let session = read.session
        drop(session)
        session.answer(.failure(error), to: read.id)
        reporter.recordAnswered(read.message, session, since: read.request.arrival)
    }

    // MARK: Bounds

    /// The time at which the next snapshot exceeds its limit, or waiting reads are to be retried;
    /// nil for never.
    ///
    /// Reads that are already past their deadlines are ignored, because they end in the turn after
    /// the next commit.
    var nextDeadline: UInt64? {
        let (now, time) = (
            clock.monotonicNanoseconds, UInt64(limits.snapshotMilliseconds) * 1_000_000
        )
        let ends = running.lazy.compactMap { read -> UInt64? in
            guard read.isBoundByTime, let start = read.start, let job = read.job, job.isReading
            else { return nil }
            return start.time + job.waited(until: now) + time + 1
        }.filter { $0 > now }.min()
        return [ends, due].compactMap(\.self).min()
    }

    /// Ends reads whose snapshots have prevented the reuse of pages for too long, or of too many
    /// pages.
    private func endOldSnapshots() {
        let now = clock.monotonicNanoseconds
        for read in running {
            guard let (committed, time) = read.start, let job = read.job, job.isReading else {
                continue
            }
            let since = Int(clamping: committer.committedBytes - committed)
            if since > limits.snapshotBytes {
                job.end(
                    limitCounters.refusal(
                        .snapshotBytes, limits,
                        "other clients committed \(since) bytes during the read; read again, or less "
                            + "at a time", code: .timeout))
            } else if read.isBoundByTime, since > 0,
                case let taken = now - min(now, time + job.waited(until: now)),
                taken > UInt64(limits.snapshotMilliseconds) * 1_000_000
            {
                job.end(
                    limitCounters.refusal(
                        .snapshotMilliseconds, limits,
                        "the read took \(taken / 1_000_000) ms during saves; read again, or less "
                            + "at a time", code: .timeout))
            }
        }
    }

    /// Makes room for a new answer, so that a slow client's answer does not block other requests.
    ///
    /// First ends answers whose clients have not accepted a chunk for a while, then larger answers,
    /// the largest first. If that does not make enough room, the new answer itself is rejected.
    private func makeRoom(for read: PendingRead) {
        // An answer that is sent immediately needs no room.
        guard bytes.held > limits.readBytes, read.countedBytes > limits.chunkBytes else { return }
        limitCounters.record(.readBytes)
        let now = clock.monotonicNanoseconds
        func isStalled(_ other: PendingRead) -> Bool {
            let output = other.session.output
            return output.isWaitingToWrite
                && now - min(now, output.acceptedAt) >= DaemonLimits.stalledAnswerNanoseconds
        }
        let others = admission.sessions.values.compactMap(\.read).filter {
            $0.isAnswered && $0 !== read
        }
        .sorted { ($0.answerBytes, $1.session.id) > ($1.answerBytes, $0.session.id) }
        let larger = others.filter { $0.answerBytes > read.answerBytes }
        for other in others.filter(isStalled) + larger.filter({ !isStalled($0) })
        where bytes.held > limits.readBytes {
            fail(other, full("read faster, or fetch less at a time"))
        }
        guard bytes.held > limits.readBytes, bytes.held > read.countedBytes else { return }
        fail(read, full("fetch again after other reads have ended"))
    }

    private func full(_ advice: String) -> TandemError {
        limitCounters.refusal(
            .readBytes, limits,
            "unread answers hold \(bytes.held) bytes; \(advice)")
    }

    /// Returns whether memory that reads freed is to be released now; see ``HeapTrimSchedule``.
    func consumeFreedDue() -> Bool { bytes.consumeFreedDue(limit: limits.readBytes) }

    // MARK: Ending

    /// Removes a session's read.
    ///
    /// If no chunk of the answer was sent, the session's former interests are restored.
    func drop(_ session: Session) {
        guard let read = session.endRead() else { return }
        if !read.hasSent, let before = read.interestsBefore {
            pushes.move(session, to: before)
        }
        forget(read)
    }

    /// Ends a read whose result is no longer needed.
    func forget(_ read: PendingRead) {
        waiting.remove(read)
        read.end()
        if read.job?.cancel() ?? true { running.removeAll { $0 === read } }
        bytes.uncount(read)
    }

    /// Ends all reads, and the readers; call it before the store is closed.
    func close() {
        for read in running { _ = read.job?.cancel() }
        readers.close()
        // Some jobs were never started.
        for read in running { read.job?.discard() }
        running = []
    }

    // MARK: Reports

    /// Whether the next turn has work for reads or readers.
    var hasWork: Bool { readers.hasWork || (due == nil && hasReadToStart) }

    /// Returns the state of the readers, with the age of the oldest snapshot being read.
    func status(_ now: UInt64) -> JSON {
        let reading = running.filter { $0.job?.isReading ?? false }
        let starts = reading.compactMap(\.start)
        let time = starts.map(\.time).min() ?? now
        let committed = starts.map { committer.committedBytes - $0.committedBytes }.max() ?? 0
        return .object([
            "threads": .int(Int64(limits.readers)), "reading": .int(Int64(reading.count)),
            "waiting": .int(Int64(waiting.count)), "heldBytes": .int(Int64(bytes.total)),
            "oldestMilliseconds": .int(Int64((now - min(now, time)) / 1_000_000)),
            "oldestCommittedBytes": .int(Int64(clamping: committed)),
            "checkpoints": .int(Int64(committer.counters.readCheckpoints)),
        ])
    }
}

extension ClientMessage {
    /// Whether the message is a read, which is answered from one view of the store.
    fileprivate var isRead: Bool {
        switch self {
        case .fetch, .explain, .read, .verdicts: true
        default: false
        }
    }
}

extension PendingRead {
    /// Whether the time of the read is limited; a batch's search may take as long as needed.
    fileprivate var isBoundByTime: Bool { !isSearch }
}
