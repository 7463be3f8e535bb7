import TandemModel
import TandemStore
import TandemWire

/// The idempotency table: answers to earlier saves, by user and save id.
///
/// The table consists of the records in the store, and of the answers to this batch's saves without
/// changes. Such a save is recorded because it could have an effect if it were carried out again
/// later. No transaction contains its answer, so the answer is written to the store directly, and a
/// checkpoint makes it durable before it is sent.
struct IdempotencyTable {
    /// The user and the id of a save.
    private struct Name: Hashable {
        var uid: UInt32
        var id: [UInt8]
    }

    private let store: Store
    private var unchanged: [Name: IdempotencyRecord] = [:]

    init(_ store: Store) { self.store = store }

    /// The number of answers that are not in the store yet.
    var unsettled: Int { unchanged.count }

    /// Returns the recorded answer to a retried save, or nil if the save must be carried out.
    ///
    /// A request that only asks for the outcome is never carried out: if the save is unknown, the
    /// answer says that nothing was written.
    func answer(to request: SaveRequest, by uid: UInt32, end: UInt64) throws -> SaveAnswer? {
        guard let first = try first(request.saveID, uid) else {
            try check(request.firstSentAt, "the save", "save again under a new id")
            return request.onlyAsks ? SaveAnswer(position: end, wrote: false) : nil
        }
        let isSame = request.onlyAsks || request.inserts.count == first.inserted.count
        guard first.contentHash == request.contentHash, isSame, first.batch == nil else {
            throw used(first)
        }
        return SaveAnswer(
            position: first.position, wrote: first.wrote, isRepeat: true, inserted: first.inserted)
    }

    /// Returns the recorded progress of a retried batch, or nil if the batch is new.
    func progress(of batch: Batch, by uid: UInt32) throws -> IdempotencyRecord? {
        guard let first = try first(batch.batchID, uid) else {
            try check(batch.firstSentAt, "the batch", "begin a new batch")
            return nil
        }
        guard first.contentHash == batch.contentHash else { throw used(first) }
        _ = try progress(in: first)
        return first
    }

    /// Returns the recorded progress of a batch insert that is continued or retried.
    ///
    /// Returns nil if the batch insert is new, or if its record was removed since its last chunk.
    func progress(
        of insert: BatchInsert, by uid: UInt32
    ) throws -> (progress: BatchProgress, hash: StableHash, position: UInt64)? {
        if let first = try first(insert.batchID, uid) {
            return (try progress(in: first), first.contentHash, first.position)
        }
        try check(insert.firstSentAt, "the rows", "begin a new batch")
        let wasForgotten = insert.after > 0 && insert.after < store.saveFloor
        guard insert.first == 0 || wasForgotten else {
            throw TandemError(
                .unknownOutcome,
                "no record of the batch exists, but its first \(insert.first) rows were reported as "
                    + "inserted; look at the objects and begin a new batch")
        }
        return nil
    }

    private func progress(in first: IdempotencyRecord) throws(TandemError) -> BatchProgress {
        guard let progress = first.batch else { throw used(first) }
        guard progress.done <= Int64.max else {
            throw TandemError(
                .storage, "the recorded progress of the batch is invalid; run `tandem check`")
        }
        return progress
    }

    /// Rejects a request first sent so long ago that its record may have been removed.
    private func check(
        _ firstSentAt: UInt64?, _ what: String, _ advice: String
    ) throws(TandemError) {
        guard let firstSentAt, firstSentAt < max(store.saveFloor, 1) - 1 else { return }
        throw TandemError(
            .unknownOutcome,
            "\(what) may or may not have been applied: it was first sent at position "
                + "\(firstSentAt), and save ids before \(store.saveFloor) are forgotten; "
                + "look at the objects and \(advice)")
    }

    private func used(_ first: IdempotencyRecord) -> TandemError {
        TandemError(
            .usage,
            "this id was used for other content at position \(first.position); choose a new id")
    }

    private func first(_ id: [UInt8], _ uid: UInt32) throws -> IdempotencyRecord? {
        if id.isEmpty { return nil }
        return try unchanged[Name(uid: uid, id: id)] ?? store.save(by: uid, id: id)
    }

    /// Records the answer to a save without changes.
    mutating func record(_ saved: SaveAnswer, to request: SaveRequest, by uid: UInt32) {
        assert(!saved.wrote, "The answer to a save with changes is in its transaction.")
        guard !request.saveID.isEmpty else { return }
        unchanged[Name(uid: uid, id: request.saveID)] = IdempotencyRecord(
            position: saved.position, contentHash: request.contentHash, wrote: false,
            inserted: saved.inserted)
    }

    /// Records the end of a batch without changes.
    mutating func record(
        _ progress: BatchProgress, of batch: Batch, by uid: UInt32, at position: UInt64
    ) {
        assert(progress.hasEnded, "A batch without changes is recorded at its end.")
        unchanged[Name(uid: uid, id: batch.batchID)] = IdempotencyRecord(
            position: position, contentHash: batch.contentHash, wrote: false, inserted: [],
            batch: progress)
    }

    /// Writes the recorded answers to the store's open transaction.
    ///
    /// If that transaction is reverted, the answers must be written again.
    func write() throws(StoreError) {
        for (name, saved) in unchanged {
            try store.rememberUnchanged(saved, by: name.uid, id: name.id)
        }
    }

    /// Marks the written answers as durable.
    mutating func didCheckpoint() { unchanged.removeAll() }

    /// Discards the recorded answers, whose saves will be rejected.
    mutating func discard() { unchanged.removeAll() }
}
