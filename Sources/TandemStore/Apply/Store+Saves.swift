public import TandemModel

/// The idempotency table, which maps save ids to the first answers and is operational state.
extension Store {
    /// Returns the recorded answer to a user's save, or nil if there is none.
    ///
    /// Throws `damaged` if the record can't be read.
    public func save(by uid: UInt32, id: [UInt8]) throws(StoreError) -> IdempotencyRecord? {
        guard let key = SmallKey(save: uid, id), let bytes = try current.get(tables.saves, key)
        else { return nil }
        do {
            return try IdempotencyRecord(bytes: Array(bytes))
        } catch {
            throw StoreError(.damaged, "a save id in the store at \(path) cannot be read: \(error)")
        }
    }

    /// Records a save that wrote no transaction; durable after the next ``checkpoint()``.
    public func rememberUnchanged(
        _ saved: IdempotencyRecord, by uid: UInt32, id: [UInt8]
    ) throws(StoreError) {
        let open = try current
        try forgetUnchanged(before: saved.position, adding: 1, open)
        let key = StoreKey.save(uid, id)
        try open.put(tables.saves, key, saved.bytes)
        idDetector.record(key)
        try open.put(tables.unchanged, StoreKey.number(saved.position) + key, [])
    }

    /// Records the answer to the save to which a transaction belongs.
    func remember(
        _ transaction: Transaction, _ outcomes: [ObjectReference?], _ open: LMDBTransaction
    ) throws(StoreError) {
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
        try open.put(tables.saves, key, count: saved.byteCount) { saved.write(to: $0) }
        key.withBytes { idDetector.record($0) }
        let order = SmallKey(number: transaction.position)
        try open.put(tables.saveOrder, order, count: key.count) { value in
            key.withBytes { value.copyMemory(from: $0) }
        }
    }

    /// Removes the `saveOrder` entry of the batch's previous transaction, whose answer is
    /// overwritten.
    private func forgetEarlierPart(
        _ key: SmallKey, _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let earlier = try open.get(tables.saves, key), earlier.count >= 8 else { return }
        let position = UInt64(littleEndian: earlier.loadUnaligned(as: UInt64.self))
        try open.delete(tables.saveOrder, SmallKey(number: position))
    }

    /// Removes records that expire when `position` is applied, whether or not that transaction has
    /// a save id.
    func forget(_ position: UInt64, _ open: LMDBTransaction) throws(StoreError) {
        try forgetUnchanged(before: position, adding: 0, open)
        guard position > options.savesKept else { return }
        let forgotten = position - options.savesKept
        saveFloor = max(saveFloor, forgotten + 1)
        let order = StoreKey.number(forgotten)
        guard let old = try open.get(tables.saveOrder, order).map({ Array($0) }) else { return }
        guard old.count >= SmallKey.saveBytes else {
            throw damaged(.saveOrder, 0, "a save's key of \(old.count) bytes")
        }
        try open.delete(tables.saves, old)
        idDetector.record(old)
        try open.delete(tables.saveOrder, order)
    }

    /// Removes a bounded number of saves that are no longer covered after
    /// ``StoreOptions/savesKept`` was lowered.
    ///
    /// Durable after the next ``checkpoint()``. Cost: usually one read of the oldest entry.
    public func sweepSaves() throws(StoreError) {
        let open = try current
        var old: [(order: [UInt8], key: [UInt8])] = []
        try open.scan(tables.saveOrder, from: []) { (order, key) throws(StoreError) -> Bool in
            // A malformed entry is left to `tandem check`, so that it can't fail a checkpoint.
            guard order.count == 8, key.count >= SmallKey.saveBytes else { return false }
            let isForgotten = order.bigEndian(0, as: UInt64.self) < saveFloor
            guard isForgotten, old.count < Store.forgottenAtOnce else { return false }
            old.append((Array(order), Array(key)))
            return true
        }
        for (order, key) in old {
            try forget(key, savedAt: order, open)
            try open.delete(tables.saveOrder, order)
        }
    }

    /// Removes the record of a save, unless a later save has taken over its id.
    private func forget(
        _ key: [UInt8], savedAt order: [UInt8], _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let saved = try open.get(tables.saves, key), saved.count >= 8 else { return }
        let position = UInt64(littleEndian: saved.loadUnaligned(as: UInt64.self))
        guard StoreKey.number(position) == order else { return }
        try open.delete(tables.saves, key)
        idDetector.record(key)
    }

    /// Removes saves without effect that are expired or exceed the limit, a bounded number per
    /// call.
    ///
    /// A save recorded at position `at` may have been sent at that same position. A retry can be
    /// recognised as too old only after the floor has reached `at + 2`. The save is therefore kept
    /// one position longer than one that wrote, which was sent before its own position.
    private func forgetUnchanged(
        before position: UInt64, adding: Int, _ open: LMDBTransaction
    ) throws(StoreError) {
        let count = try open.count(tables.unchanged)
        guard count > 0 else { return }
        let excess = count + adding - options.unchangedKept
        var old: [[UInt8]] = []
        try open.scan(tables.unchanged, from: []) { (key, _) throws(StoreError) -> Bool in
            guard key.count >= 8 + SmallKey.saveBytes else {
                throw damaged(.unchanged, 0, "a key of \(key.count) bytes")
            }
            let at = key.bigEndian(0, as: UInt64.self)
            let isOld = at <= position && position - at > options.savesKept
            guard old.count < Store.forgottenAtOnce, isOld || old.count < excess else {
                return false
            }
            old.append(Array(key))
            return true
        }
        for key in old {
            try open.delete(tables.unchanged, key)
            try open.delete(tables.saves, Array(key.dropFirst(8)))
            idDetector.record(Array(key.dropFirst(8)))
        }
    }

    /// The maximum number of saves without effect that one call removes.
    private static let forgottenAtOnce = 4_096
}

/// The answer to a save, kept so that a retry gets the same answer.
public struct IdempotencyRecord: Hashable, Sendable {
    /// The position of the transaction, or the journal's tail at the time if there was none.
    public var position: UInt64
    /// The hash that the client declared for the content of the save.
    public var contentHash: StableHash
    /// Whether the save wrote a transaction.
    public var wrote: Bool
    /// The object of each insert, in the order of the request; nil if the insert had no effect.
    public var inserted: [ObjectReference?]
    /// The progress of a batch; nil for a save.
    public var batch: BatchProgress?

    /// Creates an answer.
    public init(
        position: UInt64, contentHash: StableHash, wrote: Bool, inserted: [ObjectReference?],
        batch: BatchProgress? = nil
    ) {
        self.position = position
        self.contentHash = contentHash
        self.wrote = wrote
        self.inserted = inserted
        self.batch = batch
    }

    /// The encoded record; an insert without effect has tag and number 0.
    var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { bytes, count in
            write(to: UnsafeMutableRawBufferPointer(bytes))
            count = byteCount
        }
    }

    /// The size of the encoded record.
    var byteCount: Int {
        // Position, content hash, number of inserts as a varint, inserts, `wrote`, progress of a
        // batch.
        24 + (70 - (UInt64(inserted.count) | 1).leadingZeroBitCount) / 7 + 10 * inserted.count + 1
            + (batch == nil ? 0 : BatchProgress.byteCount)
    }

    /// Encodes the record into a buffer of ``byteCount`` bytes.
    func write(to bytes: UnsafeMutableRawBufferPointer) {
        var at = 0
        defer { assert(at == bytes.count, "The record fills its space.") }
        func put<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
            bytes.storeBytes(of: value.littleEndian, toByteOffset: at, as: T.self)
            at += MemoryLayout<T>.size
        }
        put(position)
        put(contentHash.first)
        put(contentHash.second)
        var rest = inserted.count
        while rest >= 0x80 {
            put(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        put(UInt8(rest))
        for object in inserted {
            put(object?.tag ?? 0)
            put(object?.number ?? 0)
        }
        put(UInt8(wrote ? 1 : 0))
        guard let batch else { return }
        put(batch.reached.tag)
        put(batch.reached.number)
        put(batch.done)
        put(UInt8(batch.hasEnded ? 1 : 0))
    }

    /// Decodes a record; records of an earlier release end before `wrote`.
    init(bytes: [UInt8]) throws(CodingError) {
        var reader = ByteReader(bytes)
        position = try reader.uint64()
        contentHash = StableHash(first: try reader.uint64(), second: try reader.uint64())
        inserted = []
        for _ in 0..<(try reader.count(itemBytes: 10)) {
            let object = ObjectReference(
                tag: try reader.uint16(), number: try reader.uint64())
            inserted.append(object.number == 0 ? nil : object)
        }
        wrote = reader.isAtEnd ? true : try reader.bool()
        batch = reader.isAtEnd ? nil : try BatchProgress(from: &reader)
    }
}
