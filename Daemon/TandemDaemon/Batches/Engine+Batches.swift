import TandemModel
import TandemQuery
import TandemWire

/// Batches, one after the other, in transactions between the saves of others.
///
/// A turn has at most one transaction of a batch, which shares its flush with the saves that came meanwhile.
extension Engine {
    /// Takes a batch in, or answers one that had ended.
    func begin(_ batch: Batch, _ id: UInt32, _ session: Session) throws {
        try demand(.writer, of: session, to: "change objects by a batch")
        guard batches.count <= DaemonLimits.batchesWaiting else {
            throw TandemError(
                .limitExceeded,
                "\(DaemonLimits.batchesWaiting) batches wait already; try again later")
        }
        let known = try committer.known(batch, by: session.peer.uid)
        if known.hasEnded, let position = known.position {
            return session.answer(
                .batched(Batched(position: position, count: known.done)), to: id)
        }
        let compiled = try compile(batch)
        let principal = session.principal(author: batch.author, context: batch.context)
        batches.append(BatchRun(batch, id, session, principal, compiled, known))
    }

    private func compile(_ batch: Batch) throws -> CompiledRequest {
        guard (1...WireLimits.batchIDBytes).contains(batch.batchID.count) else {
            throw TandemError(
                .usage, "the id of a batch has 1 to \(WireLimits.batchIDBytes) bytes")
        }
        guard let model = committer.store.model else {
            throw TandemError(.schemaMismatch, "the store has no model yet; apply one first")
        }
        try model.check(slotsOf: batch.modelVersion, "the batch", "nothing was done; try again")
        if case .update(let values) = batch.work, values.contains(where: \.value.isLong) {
            throw TandemError(
                .limitExceeded,
                "a batch sets values of at most \(BlobReference.inlineLimit) bytes; save longer "
                    + "ones object by object")
        }
        return try CompiledRequest(batch.request, in: model)
    }

    /// Plans the next transaction of the batch under way, together with the saves of this turn.
    func planBatch() throws {
        dropBatches()
        guard let run = batches.first, run.isFound, run.failure == nil else { return }
        do {
            try run.plan(committer, clock)
        } catch let error as TandemError {
            run.fail(error)
        }
    }

    /// A client that has gone wants no more of its batches.
    private func dropBatches() {
        batches.removeAll { $0.session.isClosing }
    }

    /// Notes what became of the transaction that was planned, if any, and answers a batch that is at its end.
    func settleBatch(because failure: TandemError?) {
        guard let run = batches.first else { return }
        if let failure = failure ?? (run.end == nil ? nil : committer.unkeptRefusal) {
            run.fail(failure)
        } else {
            run.settle()
        }
        guard let answer = run.answer(at: committer.position) else { return }
        batches.removeFirst()
        tell(run, answer)
    }

    private func tell(_ run: BatchRun, _ answer: DaemonMessage) {
        let session = run.session
        guard !session.isClosing else { return }
        if let failure = run.failure { refused(session, failure) }
        let position = answer.announcedPosition ?? 0
        if session.sent >= position {
            session.answer(answer, to: run.id)
        } else {
            session.held.append((position, run.id, answer))
        }
        finish(session)
        schedule(session)
    }

    /// Goes on looking for the objects of the batch whose turn it is, between two flushes.
    func searchBatch() throws {
        guard let run = batches.first, !run.isFound, run.failure == nil else { return }
        do {
            try run.search(committer)
        } catch let error as TandemError {
            run.fail(error)
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
