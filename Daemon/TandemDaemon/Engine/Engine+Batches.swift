import TandemModel
import TandemQuery
import TandemWire

/// Batches, carried out one after the other in transactions between saves.
///
/// A turn plans at most one transaction of a batch, which shares its flush with the saves of that
/// turn.
extension Engine {
    /// Queues a batch.
    ///
    /// The record under its id is read only when its turn comes: until then, an earlier request
    /// with the same id may change it.
    func begin(_ batch: Batch, _ id: UInt32, _ session: Session) throws {
        try authorize(.writer, of: session, to: "change objects by a batch")
        try check(batch)
        let principal = try session.principal(author: batch.author, context: batch.context)
        try batches.add(BatchChangeTask(batch, id, session, principal), limits, limitCounters)
    }

    private func check(_ batch: Batch) throws {
        try batch.batchID.checkAsBatchID()
        try check(sizeOf: batch.request)
        guard batch.request.offset == 0 else {
            throw TandemError(
                .usage,
                "a batch cannot have an offset, because a repetition would skip other objects; "
                    + "use the predicate")
        }
        if case .update(let values) = batch.work, values.contains(where: \.value.isLong) {
            throw TandemError(
                .limitExceeded,
                "a batch can set values of at most \(BlobReference.inlineLimit) bytes; save longer "
                    + "ones object by object")
        }
    }

    /// Plans the next transaction of the running batch, together with the saves of this turn.
    func planBatch() throws {
        batches.dropClosed()
        guard let run = batches.next(), !run.isOver else { return }
        try failing(run) {
            if run is BatchInsertTask {
                try authorize(.writer, of: run.session, to: "insert objects by a batch")
            }
            try run.advance(
                committer, clock, atMost: batches.most, isAlone: savers.isEmpty && !hasSaves)
        }
    }

    /// Starts the search for the objects of the running batch.
    func searchBatch() throws {
        guard let run = batches.current as? BatchChangeTask, run.seeks, !run.isOver else { return }
        try failing(run) {
            guard let model = committer.store.model else {
                throw TandemError.noModel()
            }
            let search = try BatchSearch(run.batch, run.progress, in: model)
            let read = PendingRead(
                .batch(run.batch), run.id, .search(search), of: run.session,
                needed: committer.position, modelPosition: committer.store.modelPosition)
            run.begin(read)
            readQueue.add(read)
        }
    }

    /// Cancels the search of a batch whose client has disconnected.
    func dropSearch(of session: Session) {
        guard let run = batches.current as? BatchChangeTask, run.session === session,
            let read = run.search
        else { return }
        forget(read)
    }

    private func failing(_ run: any BatchTask, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as TandemError {
            run.fail(error)
        }
    }

    /// Reports the outcome of the flush to the running batch, and answers the batch at its end.
    func settleBatch(because failure: TandemError?) {
        // While a batch searches for its objects, it has no transaction in the flush.
        guard let run = batches.current, !run.isSearching else { return }
        if let failure {
            run.fail(failure)
        } else {
            run.didCommit(unless: committer.unkeptRefusal)
        }
        guard let answer = run.answer(at: committer.position) else { return }
        batches.endCurrent()
        sendOutcome(run, answer)
    }

    private func sendOutcome(_ run: any BatchTask, _ answer: DaemonMessage) {
        let session = run.session
        guard !session.isClosing else { return }
        if let error = answer.failure { refused(session, error) }
        let position = answer.announcedPosition ?? 0
        if session.sent >= position {
            session.answer(answer, to: run.id)
        } else {
            session.held.append((position, run.id, answer))
        }
        finish(session)
        schedule(session)
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

extension Value {
    /// Whether the value is too long to be stored in a row.
    fileprivate var isLong: Bool {
        switch self {
        case .string(let text): text.utf8.count > BlobReference.inlineLimit
        case .data(let bytes): bytes.count > BlobReference.inlineLimit
        default: outside != nil
        }
    }
}
