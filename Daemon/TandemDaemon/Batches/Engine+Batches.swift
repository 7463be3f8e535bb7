import TandemModel
import TandemQuery
import TandemWire

/// Batches, one after the other, in transactions between the saves of others.
///
/// A turn has at most one transaction of a batch, which shares its flush with the saves that came meanwhile.
extension Engine {
    /// Takes a batch in, to be begun in its turn: what is known under its id may be another's doing until then.
    func begin(_ batch: Batch, _ id: UInt32, _ session: Session) throws {
        try demand(.writer, of: session, to: "change objects by a batch")
        try check(batch)
        let principal = try session.principal(author: batch.author, context: batch.context)
        try batches.add(BatchRun(batch, id, session, principal), limits, limitCounts)
    }

    private func check(_ batch: Batch) throws {
        try batch.batchID.checkAsBatchID()
        try check(sizeOf: batch.request)
        guard batch.request.offset == 0 else {
            throw TandemError(
                .usage,
                "a batch has no offset: what it leaves out would not be the same in a "
                    + "repeat; use the predicate")
        }
        if case .update(let values) = batch.work, values.contains(where: \.value.isLong) {
            throw TandemError(
                .limitExceeded,
                "a batch sets values of at most \(BlobReference.inlineLimit) bytes; save longer "
                    + "ones object by object")
        }
    }

    /// Plans the next transaction of the batch under way, together with the saves of this turn.
    func planBatch() throws {
        batches.dropClosed()
        guard let run = batches.next(), !run.isOver else { return }
        try failing(run) {
            if run is InsertRun {
                try demand(.writer, of: run.session, to: "insert objects by a batch")
            }
            try run.advance(
                committer, clock, atMost: batches.most, isAlone: savers.isEmpty && !hasSaves)
        }
    }

    /// Lets readers look for the objects of the batch whose turn it is.
    func searchBatch() throws {
        guard let run = batches.current as? BatchRun, run.seeks, !run.isOver else { return }
        try failing(run) {
            guard let model = committer.store.model else {
                throw TandemError(.schemaMismatch, "the store has no model yet; apply one first")
            }
            let search = try BatchSearch(run.batch, run.progress, in: model)
            let read = PendingRead(
                .batch(run.batch), run.id, .search(search), of: run.session,
                needed: committer.position, modelPosition: committer.store.modelPosition)
            run.begin(read)
            readQueue.add(read)
        }
    }

    /// Ends the search of a batch whose client is gone.
    func dropSearch(of session: Session) {
        guard let run = batches.current as? BatchRun, run.session === session, let read = run.search
        else { return }
        forget(read)
    }

    private func failing(_ run: any BatchWork, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as TandemError {
            run.fail(error)
        }
    }

    /// Notes what became of the transaction that was planned, if any, and answers a batch that is at its end.
    func settleBatch(because failure: TandemError?) {
        // While the objects of a batch are searched for, the flush has no part of it.
        guard let run = batches.current, !run.isSearching else { return }
        if let failure {
            run.fail(failure)
        } else {
            run.settle(unless: committer.unkeptRefusal)
        }
        guard let answer = run.answer(at: committer.position) else { return }
        batches.endCurrent()
        tell(run, answer)
    }

    private func tell(_ run: any BatchWork, _ answer: DaemonMessage) {
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
    /// Throws `usage` for bytes under which no batch can be repeated.
    func checkAsBatchID() throws(TandemError) {
        guard (1...WireLimits.batchIDBytes).contains(count) else {
            throw TandemError(
                .usage, "the id of a batch has 1 to \(WireLimits.batchIDBytes) bytes")
        }
    }
}

extension DaemonMessage {
    /// Why a batch could not be done, or not whole.
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
    /// Whether a row would not hold the value itself.
    fileprivate var isLong: Bool {
        switch self {
        case .string(let text): text.utf8.count > BlobReference.inlineLimit
        case .data(let bytes): bytes.count > BlobReference.inlineLimit
        default: outside != nil
        }
    }
}
