import TandemModel
import TandemStore
import TandemWire

/// Reads: small ones are answered immediately from the open write transaction, all others by
/// readers from a snapshot.
extension Engine {
    /// Answers a request, or queues it for a reader.
    func read(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        let answerer = Answerer(committer: committer, session: session, engine: self)
        guard message.isRead else {
            session.answer(try answerer.answer(message), to: id)
            return recordAnswered(message, session, since: session.askedAt)
        }
        if let answer = try committer.mappingReadErrors({ try answerer.lookUp(message) }) {
            session.answer(answer, to: id)
            return recordAnswered(message, session, since: session.askedAt)
        }
        let question = try answerer.question(message)
        if let answer = try committer.mappingReadErrors({ try answerer.answerLittle(question) }) {
            session.answer(answer, to: id)
            return recordAnswered(message, session, since: session.askedAt)
        }
        let read = PendingRead(
            message, id, .answer(question, id: id), of: session, needed: committer.position,
            modelPosition: committer.store.modelPosition)
        session.read = read
        // All earlier transactions were pushed under the former interests, and the answer is at
        // this position or later.
        read.interestsBefore = session.interests
        follow(question.interests, session)
        if !admission()(read) { limitCounters.record(.readerThreads) }
        readQueue.add(read)
        recount(read)
    }

    // MARK: Beginning

    /// Submits waiting reads to readers with room.
    ///
    /// Makes a checkpoint for them if they need one and it is due.
    func startReads() throws {
        readers.work()
        readsDue = nil
        guard hasReadToStart else { return }
        if readQueue.needed(admission()) > committer.store.checkpointPosition {
            readsDue = try committer.checkpointForReads()
        }
        var budget = limits.sliceReads
        var failed: [(PendingRead, TandemError)] = []
        while true {
            let isAdmitted = admission()
            let next = try readQueue.next { read in
                guard isAdmitted(read) else { return false }
                return try isReady(read, &budget, &failed)
            }
            guard let read = next else { break }
            do {
                try start(read)
                // Other requests are served between two reads on the daemon's thread.
                if !committer.canCommit { break }
            } catch let error as StoreError where error.code == .noReader {
                limitCounters.record(.storeReaders)
                // Frees the readers of killed processes.
                _ = try committer.store.checkReaders()
                readQueue.add(read)
                // Another process may hold the LMDB readers, and does not signal when it releases
                // them.
                readsDue = clock.monotonicNanoseconds + DaemonLimits.noReaderNanoseconds
                break
            }
        }
        // The queue must not change during the search.
        for (read, error) in failed { fail(read, error) }
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
            return try read.follow(to: position, model, limits, limitCounters, &budget) {
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
    private func admission() -> (PendingRead) -> Bool {
        let room = readers.room
        let running = running.lazy.filter { $0.job?.isCarriedOut == true }
        let counts = Dictionary(running.map { ($0.session.peer.uid, 1) }, uniquingKeysWith: +)
        return { $0.isSearch ? room > 0 : counts[$0.session.peer.uid, default: 0] < room }
    }

    /// Whether readers may start one of the waiting reads.
    var hasReadToStart: Bool { !readQueue.isEmpty && readQueue.contains(admission()) }

    private func start(_ read: PendingRead) throws {
        read.session.readSource.rest()
        guard let model = committer.store.model else {
            preconditionFailure("A read needs a model.")
        }
        // If nothing can be committed, the read uses the open transaction on this thread. It delays
        // no saves, because none are accepted.
        let snapshot = committer.canCommit ? try committer.store.snapshot() : nil
        let run = ReadRun(
            view: snapshot ?? committer.store, model: model, limits: limits, counts: limitCounters,
            window: read.window, verdictReads: verdictReads)
        let job = ReadJob(
            read.purpose, of: read.session.peer.uid, run, snapshot: snapshot, memory: readMemory)
        let now = clock.monotonicNanoseconds
        read.begin(job, committedBytes: committer.committedBytes, at: now)
        running.append(read)
        recount(read)
        guard snapshot == nil else { return readers.submit(job) }
        job.advance { _ in }
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
    func handleReadProgress() throws {
        for job in readers.drainProgress() {
            guard let read = running.first(where: { $0.job === job }) else { continue }
            handleProgress(read, job.consumeProgress())
        }
        endOldSnapshots()
    }

    private func handleProgress(_ read: PendingRead, _ state: ReadJob.Progress) {
        if state.phase == .done {
            running.removeAll { $0 === read }
            recordFreed(state.freedBytes)
        }
        guard !read.isOver else { return }
        recount(read)
        if read.isSearch { return finishSearch(read, state) }
        guard read.session.read === read else { return }
        if !read.isAnswered, state.phase != .reading, state.failure == nil {
            read.isAnswered = true
            makeRoom(for: read)
        }
        reading.append(read.session)
    }

    /// Passes the objects found to the batch that searched for them.
    private func finishSearch(_ read: PendingRead, _ state: ReadJob.Progress) {
        guard state.phase == .done else { return }
        read.isOver = true
        uncount(read)
        guard let run = batches.current as? BatchChangeTask, run.search === read else { return }
        if let found = state.found {
            run.accept(found, at: state.position)
        } else {
            run.fail(told(state.failure))
        }
    }

    /// Sends the available messages of answers that clients are receiving.
    func deliverReads() throws {
        for _ in 0..<reading.count {
            guard let session = reading.popFirst() else { return }
            if session.isWaitingToWrite { finish(session) }
            // The session must have received every push up to the answer's position.
            if session.isReady { try pump(session) }
            deliver(session)
            finish(session)
            schedule(session)
        }
    }

    private func deliver(_ session: Session) {
        guard let read = session.read, let job = read.job, !session.isClosing else { return }
        let state = job.consumeProgress()
        // An answer is sent after the pushes of all transactions that it includes.
        guard session.hasRoom, session.sent >= state.position else { return }
        // The client has the new model by now, and would decode the rows with it.
        guard read.hasSent || read.modelPosition == committer.store.modelPosition else {
            return fail(read, Self.otherModel(read))
        }
        session.tookAt = clock.monotonicNanoseconds
        while session.outboundBytes < limits.chunkBytes, let message = job.dequeueMessage() {
            session.answer(message, to: read.id)
            read.hasSent = true
            guard message.isLast else { continue }
            drop(session)
            return recordAnswered(read.message, session, since: read.arrival)
        }
        if let failure = state.failure, !job.hasMessages { return fail(read, told(failure)) }
        recount(read)
        if job.endRest() { readers.submit(job) }
    }

    /// Returns the error that a client receives.
    private func told(_ failure: (any Error)?) -> TandemError {
        switch failure {
        case let error as TandemError: return error
        case let error as StoreError:
            return error.told(limits, limitCounters)
                ?? TandemError(.storage, "\(error.message); run `tandem check`")
        default:
            return TandemError(
                .storage, "the read failed: \(failure.map { "\($0)" } ?? "no answer")")
        }
    }

    private func fail(_ read: PendingRead, _ error: TandemError) {
        if read.isSearch {
            readQueue.remove(read)
            read.isOver = true
            (batches.current as? BatchChangeTask)?.fail(error, of: read)
            return uncount(read)
        }
        let session = read.session
        drop(session)
        session.answer(.failure(error), to: read.id)
        recordAnswered(read.message, session, since: read.arrival)
        finish(session)
        schedule(session)
    }

    // MARK: Bounds

    /// The time at which the next snapshot exceeds its limit, or waiting reads are to be retried;
    /// nil for never.
    ///
    /// A read past its deadline ends in the turn after the next commit, so nothing has to be
    /// scheduled for it.
    var nextReadDeadline: UInt64? {
        let (now, time) = (
            clock.monotonicNanoseconds, UInt64(limits.snapshotMilliseconds) * 1_000_000
        )
        let ends = running.lazy.compactMap { read -> UInt64? in
            guard read.isBoundByTime, let start = read.start, let job = read.job, job.isReading
            else { return nil }
            return start.time + job.waited(until: now) + time + 1
        }.filter { $0 > now }.min()
        return [ends, readsDue].compactMap(\.self).min()
    }

    /// Ends reads whose snapshots have prevented the reuse of pages for too long, or of too many
    /// pages.
    private func endOldSnapshots() {
        let now = clock.monotonicNanoseconds
        for read in running {
            guard let (committed, time) = read.start, let job = read.job, job.isReading else {
                continue
            }
            let bytes = Int(clamping: committer.committedBytes - committed)
            if bytes > limits.snapshotBytes {
                job.end(
                    limitCounters.refusal(
                        .snapshotBytes, limits,
                        "other clients committed \(bytes) bytes during the read; read again, or less "
                            + "at a time", code: .timeout))
            } else if read.isBoundByTime, bytes > 0,
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
        guard heldBytes > limits.readBytes, read.countedBytes > limits.chunkBytes else { return }
        limitCounters.record(.readBytes)
        let now = clock.monotonicNanoseconds
        func isStalled(_ other: PendingRead) -> Bool {
            other.session.isWaitingToWrite
                && now - min(now, other.session.tookAt) >= DaemonLimits.stalledAnswerNanoseconds
        }
        let others = sessions.values.compactMap(\.read).filter { $0.isAnswered && $0 !== read }
            .sorted { ($0.answerBytes, $1.session.id) > ($1.answerBytes, $0.session.id) }
        let larger = others.filter { $0.answerBytes > read.answerBytes }
        for other in others.filter(isStalled) + larger.filter({ !isStalled($0) })
        where heldBytes > limits.readBytes {
            fail(other, full("read faster, or fetch less at a time"))
        }
        guard heldBytes > limits.readBytes, heldBytes > read.countedBytes else { return }
        fail(read, full("fetch again after other reads have ended"))
    }

    private func full(_ advice: String) -> TandemError {
        limitCounters.refusal(
            .readBytes, limits,
            "unread answers hold \(heldBytes) bytes; \(advice)")
    }

    // MARK: Counting

    /// Updates the bytes counted for a read.
    private func recount(_ read: PendingRead) {
        let bytes = read.bytes
        heldBytes += bytes - read.countedBytes
        recordFreed(read.countedBytes - bytes)
        read.countedBytes = bytes
    }

    private func uncount(_ read: PendingRead) {
        heldBytes -= read.countedBytes
        recordFreed(read.countedBytes)
        read.countedBytes = 0
    }

    /// Records bytes that a read no longer holds.
    private func recordFreed(_ bytes: Int) {
        if bytes > 0 { heapTrim.recordRead(bytes: bytes, now: clock.monotonicNanoseconds) }
    }

    /// Returns whether memory that reads freed is to be released now; see ``HeapTrimSchedule``.
    func consumeFreedDue() -> Bool {
        heapTrim.consumeDue(clock.monotonicNanoseconds, room: limits.readBytes - heldBytes)
    }

    /// Removes a session's read.
    ///
    /// If no chunk of the answer was sent, the session's former interests are restored.
    func drop(_ session: Session) {
        guard let read = session.read else { return }
        session.read = nil
        if !read.hasSent, let before = read.interestsBefore {
            subscribers.move(session, to: before)
        }
        forget(read)
    }

    /// Ends a read whose result is no longer needed.
    func forget(_ read: PendingRead) {
        readQueue.remove(read)
        read.isOver = true
        if read.job?.cancel() ?? true { running.removeAll { $0 === read } }
        uncount(read)
    }

    /// Ends all reads, and the readers; call it before the store is closed.
    func closeReaders() {
        for read in running { _ = read.job?.cancel() }
        readers.close()
        // Some jobs were never started.
        for read in running { read.job?.discard() }
        running = []
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
