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
            if let sentAt = request.firstSentAt, sentAt < max(store.saveFloor, 1) - 1 {
                throw TandemError(
                    .unknownOutcome,
                    "the save may or may not have happened: it was first sent at position "
                        + "\(sentAt), and ids of saves before \(store.saveFloor) are forgotten; "
                        + "look at the objects and save anew")
            }
            return request.onlyAsks ? Saved(position: end, wrote: false) : nil
        }
        let isSame = request.onlyAsks || request.inserts.count == first.inserted.count
        guard first.contentHash == request.contentHash, isSame else {
            throw TandemError(
                .usage,
                "this save id was used for other content at position \(first.position); "
                    + "choose a new id")
        }
        return Saved(
            position: first.position, wrote: first.wrote, isRepeat: true, inserted: first.inserted)
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
