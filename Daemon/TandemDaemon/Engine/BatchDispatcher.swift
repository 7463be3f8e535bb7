import TandemIO
import TandemModel
import TandemQuery
import TandemWire

/// Carries out batches, one after another, in transactions between saves.
///
/// A turn with saves plans at most one transaction of a batch, which shares a flush with the saves.
final class BatchDispatcher {
    private let committer: Committer
    private let clock: any Clock
    private let admission: Admission
    private let reporter: ClientReporter
    /// The running batch and the waiting ones.
    private(set) var queue = BatchQueue()

    init(
        _ committer: Committer, clock: any Clock, admission: Admission, reporter: ClientReporter
    ) {
        (self.committer, self.clock) = (committer, clock)
        (self.admission, self.reporter) = (admission, reporter)
    }

    /// Sets the maximum number of objects in one transaction of a batch.
    func setMost(_ objects: Int) { queue.most = objects }

    /// Whether a batch can proceed in the daemon's next turn.
    var hasWork: Bool { queue.hasWork }

    /// Queues a batch.
    ///
    /// The record under the batch's id is read only in the batch's first turn: until then, an
    /// earlier request with the same id may change the record.
    func begin(_ batch: Batch, _ id: UInt32, _ session: Session) throws {
        try admission.authorize(.writer, of: session, to: "change objects in a batch")
        try check(batch)
        let principal = try session.client.principal(author: batch.author, context: batch.context)
        try queue.add(
            BatchChangeTask(batch, id, session, principal), committer.limits,
            committer.limitCounters)
    }

    /// Queues the batch-insert chunks of a session.
    func add(chunksOf session: Session) { queue.add(chunksOf: session) }

    private func check(_ batch: Batch) throws {
        try batch.batchID.checkAsBatchID()
        try RequestSize(committer).check(batch.request)
        guard batch.request.offset == 0 else {
            throw TandemError(
                .usage,
                "a batch cannot have an offset, because a retry would skip other objects; "
                    + "use the predicate")
        }
        if case .update(let values) = batch.work, values.contains(where: \.value.isLong) {
            throw TandemError(
                .limitExceeded,
                "a batch can set values of at most \(BlobReference.inlineLimit) bytes; save longer "
                    + "values object by object")
        }
    }

    /// Plans the next transaction of the running batch, together with the saves of this turn.
    ///
    /// `isAlone` means that no save is in the batch being built, and none waits.
    func plan(isAlone: Bool) throws {
        queue.dropClosed()
        guard let run = queue.next(), !run.isOver else { return }
        try failing(run) {
            if run is BatchInsertTask {
                try admission.authorize(
                    .writer, of: run.session, to: "insert objects in a batch")
            }
            try run.advance(committer, clock, atMost: queue.most, isAlone: isAlone)
        }
    }

    // MARK: Searching

    /// Returns the search for the objects of the running batch, or nil if none has to be started.
    func beginSearch() throws -> PendingRead? {
        guard let run = queue.current as? BatchChangeTask, run.needsSearch, !run.isOver else {
            return nil
        }
        var begun: PendingRead?
        try failing(run) {
            guard let model = committer.store.model else {
                throw TandemError.noModel()
            }
            let search = try run.nextSearch(in: model)
            let read = PendingRead(
                .batch(run.batch), run.id, .search(search), of: run.session,
                needed: committer.position, modelPosition: committer.store.modelPosition)
            run.begin(read)
            begun = read
        }
        assert(begun == nil || run.isSearching, "The batch records the search that it waits for.")
        return begun
    }

    /// Returns the search of the running batch, or nil if another session requested the batch.
    func search(of session: Session) -> PendingRead? {
        guard let run = queue.current as? BatchChangeTask, run.session === session else {
            return nil
        }
        return run.search
    }

    /// Passes the outcome of a search to the batch that still waits for it.
    func accept(_ outcome: SearchOutcome) {
        guard let run = queue.current as? BatchChangeTask, run.search === outcome.read else {
            return
        }
        switch outcome.result {
        case .found(let found, let position): run.accept(found, at: position)
        case .failed(let error): run.fail(error)
        }
    }

    private func failing(_ run: any BatchTask, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as TandemError {
            run.fail(error)
        }
    }

    // MARK: Outcomes

    /// Reports the outcome of the flush to the running batch, and answers the batch at its end.
    ///
    /// Returns the session that was answered, whose output must be written.
    func didFlush(because failure: TandemError?, checkpointError: TandemError?) -> Session? {
        // While a batch searches for its objects, it has no transaction in the flush.
        guard let run = queue.current, !run.isSearching else { return nil }
        if let failure {
            run.fail(failure)
        } else {
            run.didCommit(unless: checkpointError)
        }
        guard let answer = run.answer(at: committer.position) else { return nil }
        assert(run.isOver, "Only a batch that has ended is answered.")
        queue.endCurrent()
        return send(answer, of: run)
    }

    private func send(_ answer: DaemonMessage, of run: any BatchTask) -> Session? {
        let session = run.session
        guard !session.isClosing else { return nil }
        if let error = answer.failure { reporter.refused(session, error) }
        session.answer(answer, to: run.id, heldUntil: answer.announcedPosition ?? 0)
        return session
    }
}

extension [UInt8] {
    /// Throws `usage` if the bytes can't identify a batch for a retry.
    func checkAsBatchID() throws(TandemError) {
        guard (1...WireLimits.batchIDBytes).contains(count) else {
            throw TandemError(
                .usage, "the id of a batch must have 1 to \(WireLimits.batchIDBytes) bytes")
        }
    }
}

extension DaemonMessage {
    /// The reason why a batch failed or was not completed.
    fileprivate var failure: TandemError? {
        switch self {
        case .failure(let error): error
        case .batched(let answer): answer.failure
        case .inserted(let answer): answer.failure
        default: nil
        }
    }
}

extension PropertyValue {
    /// Whether the value is too long to be stored in a row.
    fileprivate var isLong: Bool {
        switch self {
        case .string(let text): text.utf8.count > BlobReference.inlineLimit
        case .data(let bytes): bytes.count > BlobReference.inlineLimit
        default: outside != nil
        }
    }
}
