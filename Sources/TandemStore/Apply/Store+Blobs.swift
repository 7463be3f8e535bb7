import TandemModel

/// Contents of data values that are too long for rows: each once, with the number of places where it stands.
///
/// A content that stands nowhere any more is kept until ``sweepBlobs(below:)``, because whoever looks back in the journal may
/// still meet it. How many of those there are is operational state; ``dump(_:)`` shows only what stands somewhere.
extension Store {
    /// Removes contents that last stood in a row before a position; returns how many.
    ///
    /// Call it with the first position that the journal still has: nothing older can be looked at then. Cost: what it removes.
    @discardableResult
    public func sweepBlobs(below position: UInt64) throws(StoreError) -> Int {
        let open = try current
        var unused: [[UInt8]] = []
        try open.scan(tables.unusedBlobs, from: []) { key, _ in
            guard key.count == 40, key.bigEndian(0, as: UInt64.self) < position else {
                return false
            }
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

    /// Adds contents that are not there yet; they stand nowhere before the changes of their transaction are applied.
    func add(
        _ blobs: [Blob], at position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        for blob in blobs where try !holds(blob.reference) {
            try open.put(tables.blobs, blob.reference.hash, blob.content)
            try write(BlobUses(count: 0, since: position), of: blob.reference, open)
            // A content dirties as many pages as some hundred changes do.
            uncommittedChanges += blob.content.count >> 10
        }
    }

    /// Counts what a row gains and loses against the row before it.
    func countBlobs(
        _ new: Row?, replacing old: Row?, _ entity: CompiledEntity, at position: UInt64,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        let gained = new?.blobs(in: entity) ?? []
        let lost = old?.blobs(in: entity) ?? []
        guard gained != lost else { return }
        for blob in gained { try count(blob, 1, position, open) }
        for blob in lost { try count(blob, -1, position, open) }
    }

    func count(
        _ blob: BlobReference, _ step: Int64, _ position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        let counted = try open.get(tables.blobUses, blob.hash).flatMap { BlobUses($0) }
        // A salvage removes values whose content is lost.
        if counted == nil, options.acceptsLosses { return }
        guard var uses = counted, uses.count + step >= 0 else {
            throw StoreError(
                .damaged,
                "the store at \(path) does not have blob \(blob) as often as transaction "
                    + "\(position) needs it; run `tandem check`")
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
        try open.put(tables.blobUses, blob.hash, uses.bytes)
        guard uses.count == 0 else { return }
        try open.put(tables.unusedBlobs, StoreKey.number(uses.since) + blob.hash, [])
    }
}

/// How often a blob stands in rows, and the position of the transaction that last changed that.
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
