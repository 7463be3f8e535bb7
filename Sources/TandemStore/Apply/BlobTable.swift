import TandemModel

/// The table of blobs: values that are too long for rows, each stored once with its use count.
///
/// An unused blob is kept until it is removed by ``sweep(below:atMost:_:)``, because a read of the
/// past may still need it. Unused blobs are operational state: a dump shows only blobs in use.
struct BlobTable {
    private let tables: StoreTables
    private let path: String
    /// Whether a missing use count is ignored; a salvage has to remove uses of blobs that are lost.
    private let acceptsLosses: Bool

    init(_ tables: StoreTables, path: String, acceptsLosses: Bool) {
        self.tables = tables
        self.path = path
        self.acceptsLosses = acceptsLosses
    }

    /// Removes up to `most` blobs that became unused before a position, the oldest first; returns
    /// their number.
    func sweep(
        below position: UInt64, atMost most: Int, _ open: LMDBTransaction
    ) throws(StoreError) -> Int {
        var unused: [[UInt8]] = []
        try open.scan(tables.unusedBlobs, from: []) { key, _ in
            guard unused.count < most, key.count == 40,
                key.bigEndian(0, as: UInt64.self) < position
            else { return false }
            unused.append(Array(key))
            return true
        }
        for key in unused {
            let hash = Array(key.dropFirst(8))
            try open.delete(tables.unusedBlobs, key)
            try open.delete(tables.blobUses, hash)
            try open.delete(tables.blobs, hash)
        }
        return unused.count
    }

    /// Adds the blobs that the store doesn't have yet; returns the number of changes that they
    /// count as.
    ///
    /// Their use count is 0 until the changes of the transaction are applied. A blob counts as one
    /// change per KiB, because it can dirty as many pages as several hundred changes.
    func add(
        _ blobs: [Blob], at position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) -> Int {
        var changes = 0
        for blob in blobs where try open.get(tables.blobUses, blob.reference.hash) == nil {
            try open.put(tables.blobs, blob.reference.hash, blob.content)
            try write(BlobUses(count: 0, since: position), of: blob.reference, open)
            changes += blob.content.count >> 10
        }
        return changes
    }

    /// Updates the use counts after a row was replaced.
    func count(
        _ new: Row?, replacing old: Row?, _ entity: CompiledEntity, at position: UInt64,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        let gained = new?.blobs(in: entity) ?? []
        let lost = old?.blobs(in: entity) ?? []
        guard gained != lost else { return }
        for blob in gained { try count(blob, 1, position, open) }
        for blob in lost { try count(blob, -1, position, open) }
    }

    /// Changes the use count of a blob by one.
    func count(
        _ blob: BlobReference, _ step: Int64, _ position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        assert(step == 1 || step == -1, "Each value counts as one use.")
        let counted = try open.get(tables.blobUses, blob.hash).flatMap { BlobUses($0) }
        if counted == nil, acceptsLosses { return }
        guard var uses = counted, uses.count + step >= 0 else {
            throw StoreError(
                .damaged,
                "the store at \(path) has fewer uses of blob \(blob) than transaction "
                    + "\(position) removes; run `tandem check`")
        }
        if uses.count == 0 {
            try open.delete(tables.unusedBlobs, StoreKey.number(uses.since) + blob.hash)
        }
        uses.count += step
        uses.since = position
        try write(uses, of: blob, open)
    }

    private func write(
        _ uses: BlobUses, of blob: BlobReference, _ open: LMDBTransaction
    ) throws(StoreError) {
        assert(uses.count >= 0, "A use count is never negative.")
        try open.put(tables.blobUses, blob.hash, uses.bytes)
        guard uses.count == 0 else { return }
        try open.put(tables.unusedBlobs, StoreKey.number(uses.since) + blob.hash, [])
    }
}

/// The number of uses of a blob in rows, and the position of the transaction that last changed it.
struct BlobUses: Hashable {
    var count: Int64
    var since: UInt64

    init(count: Int64, since: UInt64) {
        self.count = count
        self.since = since
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        count = bytes.bigEndian(0, as: Int64.self)
        since = bytes.bigEndian(8, as: UInt64.self)
    }

    var bytes: [UInt8] { StoreKey.number(UInt64(bitPattern: count)) + StoreKey.number(since) }
}
