import TandemModel

/// The idempotency table, which maps save ids to the answers to the first attempts.
///
/// The table is operational state and not part of the dump (law 6).
final class SaveIDTable {
    private let saves: LMDBTable
    private let saveOrder: LMDBTable
    private let unchanged: LMDBTable
    private let savesKept: UInt64
    private let unchangedKept: Int
    private let path: String
    private let decoder: EntryDecoder
    /// The position below which save ids are no longer known.
    private(set) var floor: UInt64 = 0
    /// A classifier of the save ids written since the last checkpoint.
    private var idDetector = SequentialIDDetector()

    /// The maximum number of saves that one call removes.
    private static let forgottenAtOnce = 4_096

    init(_ tables: StoreTables, _ options: StoreOptions, path: String, _ decoder: EntryDecoder) {
        (saves, saveOrder, unchanged) = (tables.saves, tables.saveOrder, tables.unchanged)
        (savesKept, unchangedKept) = (options.savesKept, options.unchangedKept)
        self.path = path
        self.decoder = decoder
    }

    /// The number of writes since the last checkpoint that dirtied a page of their own.
    var scatteredWrites: Int { idDetector.scattered }

    /// Resets the count of scattered writes after a checkpoint.
    func didCheckpoint() { idDetector = SequentialIDDetector() }

    /// Restores the floor of the last checkpoint.
    func restore(floor: UInt64) {
        self.floor = floor
        didCheckpoint()
    }

    /// Lowers the floor to a position, unless it is lower already.
    func lowerFloor(to position: UInt64) { floor = min(floor, position) }

    /// Returns the recorded answer to a user's save, or nil if there is none.
    ///
    /// Throws `damaged` if the record can't be read.
    func record(
        by uid: UInt32, id: [UInt8], _ open: LMDBTransaction
    ) throws(StoreError) -> IdempotencyRecord? {
        guard let key = SmallKey(save: uid, id), let bytes = try open.get(saves, key)
        else { return nil }
        do {
            return try IdempotencyRecord(bytes: Array(bytes))
        } catch {
            throw StoreError(.damaged, "a save id in the store at \(path) cannot be read: \(error)")
        }
    }

    /// Records a save that wrote no transaction.
    func rememberUnchanged(
        _ saved: IdempotencyRecord, by uid: UInt32, id: [UInt8], _ open: LMDBTransaction
    ) throws(StoreError) {
        assert(!saved.wrote, "A save that wrote is recorded with its transaction.")
        try forgetUnchanged(before: saved.position, adding: 1, open)
        let key = StoreKey.save(uid, id)
        try open.put(saves, key, saved.bytes)
        idDetector.record(key)
        try open.put(unchanged, StoreKey.number(saved.position) + key, [])
    }

    /// Records the answer to the save to which a transaction belongs.
    func remember(
        _ transaction: Transaction, _ outcomes: [ObjectReference?], _ open: LMDBTransaction
    ) throws(StoreError) {
        assert(!transaction.saveID.isEmpty, "A transaction of a save has the save's id.")
        guard let key = SmallKey(save: transaction.principal.uid, transaction.saveID) else {
            throw StoreError(
                .damaged,
                "transaction \(transaction.position) has a save id of "
                    + "\(transaction.saveID.count) bytes, more than the maximum of \(SmallKey.longestSaveID)"
            )
        }
        let saved = IdempotencyRecord(
            position: transaction.position, contentHash: transaction.contentHash, wrote: true,
            inserted: outcomes, batch: transaction.batch)
        if saved.batch != nil { try forgetEarlierPart(key, open) }
        try open.put(saves, key, count: saved.byteCount) { saved.write(to: $0) }
        key.withBytes { idDetector.record($0) }
        let order = SmallKey(number: transaction.position)
        try open.put(saveOrder, order, count: key.count) { value in
            key.withBytes { value.copyMemory(from: $0) }
        }
    }

    /// Removes the `saveOrder` entry of the batch's previous transaction, whose answer is
    /// overwritten.
    private func forgetEarlierPart(
        _ key: SmallKey, _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let earlier = try open.get(saves, key), earlier.count >= 8 else { return }
        let position = UInt64(littleEndian: earlier.loadUnaligned(as: UInt64.self))
        try open.delete(saveOrder, SmallKey(number: position))
    }

    /// Removes the records that expire when the transaction at `position` is applied.
    func forget(_ position: UInt64, _ open: LMDBTransaction) throws(StoreError) {
        try forgetUnchanged(before: position, adding: 0, open)
        guard position > savesKept else { return }
        let forgotten = position - savesKept
        floor = max(floor, forgotten + 1)
        let order = StoreKey.number(forgotten)
        guard let old = try open.get(saveOrder, order).map({ Array($0) }) else { return }
        guard old.count >= SmallKey.saveBytes else {
            throw decoder.damaged(.saveOrder, 0, "a save's key of \(old.count) bytes")
        }
        try open.delete(saves, old)
        idDetector.record(old)
        try open.delete(saveOrder, order)
    }

    /// Removes a bounded number of expired save ids, which remain if ``StoreOptions/savesKept`` was
    /// lowered.
    func sweep(_ open: LMDBTransaction) throws(StoreError) {
        var old: [(order: [UInt8], key: [UInt8])] = []
        try open.scan(saveOrder, from: []) { (order, key) throws(StoreError) -> Bool in
            // A malformed entry is left to `tandem check`, so that it can't fail a checkpoint.
            guard order.count == 8, key.count >= SmallKey.saveBytes else { return false }
            let isForgotten = order.bigEndian(0, as: UInt64.self) < floor
            guard isForgotten, old.count < Self.forgottenAtOnce else { return false }
            old.append((Array(order), Array(key)))
            return true
        }
        assert(old.count <= Self.forgottenAtOnce, "One call removes a bounded number of saves.")
        for (order, key) in old {
            try forget(key, savedAt: order, open)
            try open.delete(saveOrder, order)
        }
    }

    /// Removes the record of a save, unless a later save has taken over its id.
    private func forget(
        _ key: [UInt8], savedAt order: [UInt8], _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let saved = try open.get(saves, key), saved.count >= 8 else { return }
        let position = UInt64(littleEndian: saved.loadUnaligned(as: UInt64.self))
        guard StoreKey.number(position) == order else { return }
        try open.delete(saves, key)
        idDetector.record(key)
    }

    /// Removes saves without effect that have expired or exceed the limit, a bounded number per
    /// call.
    ///
    /// A save without effect that is recorded at position `at` may have been sent at that same
    /// position. A retry can be recognised as too old only after the floor has reached `at + 2`.
    /// The save is therefore kept one position longer than a save that wrote, which was sent before
    /// its own position.
    private func forgetUnchanged(
        before position: UInt64, adding: Int, _ open: LMDBTransaction
    ) throws(StoreError) {
        let count = try open.count(unchanged)
        guard count > 0 else { return }
        let excess = count + adding - unchangedKept
        var old: [[UInt8]] = []
        try open.scan(unchanged, from: []) { (key, _) throws(StoreError) -> Bool in
            guard key.count >= 8 + SmallKey.saveBytes else {
                throw decoder.damaged(.unchanged, 0, "a key of \(key.count) bytes")
            }
            let at = key.bigEndian(0, as: UInt64.self)
            let isOld = at <= position && position - at > savesKept
            guard old.count < Self.forgottenAtOnce, isOld || old.count < excess else {
                return false
            }
            old.append(Array(key))
            return true
        }
        assert(old.count <= Self.forgottenAtOnce, "One call removes a bounded number of saves.")
        for key in old {
            try open.delete(unchanged, key)
            try open.delete(saves, Array(key.dropFirst(8)))
            idDetector.record(Array(key.dropFirst(8)))
        }
    }
}
