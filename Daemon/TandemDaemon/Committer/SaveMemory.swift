import TandemModel
import TandemStore
import TandemWire

/// Knows what was answered to earlier saves: those in the store, and those of this batch that wrote nothing.
///
/// A save that wrote nothing could write something when it is carried out again later, so its answer is remembered too. It has no
/// transaction to be remembered with: it is put into the store here, and made durable by a checkpoint before it is sent.
struct SaveMemory {
    /// Who saved under which id.
    private struct Name: Hashable {
        var uid: UInt32
        var id: [UInt8]
    }

    private let store: Store
    private var unchanged: [Name: SavedOnce] = [:]

    init(_ store: Store) { self.store = store }

    /// The number of answers that are not in the store yet.
    var unsettled: Int { unchanged.count }

    /// The first answer to a save that is repeated, also "not known" to one that only asks; nil when it is to be carried out.
    func answer(to request: SaveRequest, by uid: UInt32, end: UInt64) throws -> Saved? {
        guard let first = try first(request.saveID, uid) else {
            try check(request.firstSentAt, "the save", "save anew")
            return request.onlyAsks ? Saved(position: end, wrote: false) : nil
        }
        let isSame = request.onlyAsks || request.inserts.count == first.inserted.count
        guard first.contentHash == request.contentHash, isSame, first.batch == nil else {
            throw used(first)
        }
        return Saved(
            position: first.position, wrote: first.wrote, isRepeat: true, inserted: first.inserted)
    }

    /// What is known of a batch that is repeated; nil for one that is new.
    func progress(of batch: Batch, by uid: UInt32) throws -> SavedOnce? {
        guard let first = try first(batch.batchID, uid) else {
            try check(batch.firstSentAt, "the batch", "begin a new batch")
            return nil
        }
        guard first.contentHash == batch.contentHash else { throw used(first) }
        _ = try progress(in: first)
        return first
    }

    /// What is known of a batch insert that goes on or is repeated; nil for one that is new, or was forgotten since its last part.
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
                "nothing is known of the batch whose first \(insert.first) rows are said to be "
                    + "inserted; look at the objects and begin a new batch")
        }
        return nil
    }

    private func progress(in first: SavedOnce) throws(TandemError) -> BatchProgress {
        guard let progress = first.batch else { throw used(first) }
        guard progress.done <= Int64.max else {
            throw TandemError(
                .storage, "what the store knows of the batch can't be; run `tandem check`")
        }
        return progress
    }

    /// Refuses what was sent first so long ago that it may be forgotten that it was carried out.
    private func check(
        _ firstSentAt: UInt64?, _ what: String, _ advice: String
    ) throws(TandemError) {
        guard let firstSentAt, firstSentAt < max(store.saveFloor, 1) - 1 else { return }
        throw TandemError(
            .unknownOutcome,
            "\(what) may or may not have happened: it was first sent at position "
                + "\(firstSentAt), and ids of saves before \(store.saveFloor) are forgotten; "
                + "look at the objects and \(advice)")
    }

    private func used(_ first: SavedOnce) -> TandemError {
        TandemError(
            .usage,
            "this id was used for other content at position \(first.position); choose a new id")
    }

    private func first(_ id: [UInt8], _ uid: UInt32) throws -> SavedOnce? {
        if id.isEmpty { return nil }
        return try unchanged[Name(uid: uid, id: id)] ?? store.save(by: uid, id: id)
    }

    /// Notes the answer to a save that wrote nothing.
    mutating func note(_ saved: Saved, to request: SaveRequest, by uid: UInt32) {
        guard !request.saveID.isEmpty else { return }
        unchanged[Name(uid: uid, id: request.saveID)] = SavedOnce(
            position: saved.position, contentHash: request.contentHash, wrote: false,
            inserted: saved.inserted)
    }

    /// Notes how a batch ended that wrote nothing.
    mutating func note(
        _ progress: BatchProgress, of batch: Batch, by uid: UInt32, at position: UInt64
    ) {
        unchanged[Name(uid: uid, id: batch.batchID)] = SavedOnce(
            position: position, contentHash: batch.contentHash, wrote: false, inserted: [],
            batch: progress)
    }

    /// Puts what was noted into the store's open transaction; it may have to be done again until that is committed.
    func write() throws(StoreError) {
        for (name, saved) in unchanged {
            try store.rememberUnchanged(saved, by: name.uid, id: name.id)
        }
    }

    /// Notes that what was written is durable.
    mutating func settle() { unchanged.removeAll() }

    /// Drops what was noted and is to be refused.
    mutating func forget() { unchanged.removeAll() }
}
