/// Copies the readable keys of a damaged store into a new store.
///
/// LMDB's own copy fails if it can't reach every page, and it copies damage inside pages. Here each
/// table is read key by key: from its beginning up to the first unreadable page, and from its end
/// back to that page. Keys that are out of order in a damaged page are inserted in the correct
/// order.
package struct ReadableCopy {
    /// The maximum number of keys and bytes written in one transaction.
    package struct Batch {
        let keys: Int
        let bytes: Int

        /// For a copy that is continued after a damaged page has ended the process: at most this
        /// much is lost.
        package static let small = Batch(keys: 256, bytes: 4 << 20)
        /// For a copy that is discarded if it fails, with few synchronizations of the disk.
        package static let large = Batch(keys: 65_536, bytes: 64 << 20)
    }

    private let source: String
    private let target: String
    private let batch: Batch

    /// Creates a copy from one directory to another, which must exist and be unused.
    package init(from source: String, to target: String, batch: Batch) {
        (self.source, self.target, self.batch) = (source, target, batch)
    }

    /// Copies one table up to a key that was copied before; durable on return.
    ///
    /// Begins at the table's end if `backwards` is true. Returns the number of keys that were left
    /// out because no table can contain them, or because they occur twice. Throws ``StoreError`` at
    /// the first unreadable page, after copying all keys before it. A damaged file may also end the
    /// process with SIGBUS or SIGSEGV; at most one batch is then missing. Throws `overQuota` or
    /// `noSpace` if the target has no room.
    package func copy(_ table: StoreTable, backwards: Bool = false) throws(StoreError) -> Int {
        let from = try LMDBEnvironment(
            path: source, mapBytes: Self.leastMapBytes, tables: StoreTables.count, readOnly: true,
            isLocking: false)
        defer { from.close() }
        let reading = try from.begin(readOnly: true)
        defer { reading.abort() }
        let to = try LMDBEnvironment(
            path: target, mapBytes: StoreSpace.reservedMapBytes(StoreOptions()),
            tables: StoreTables.count)
        defer { to.close() }
        try prepare(to)
        let cursor = try reading.ownCursor(try reading.table(table.rawValue, create: false))
        var walk = DamagedTableWalk(
            cursor, backwards: backwards, storeBytes: from.usage.usedBytes, batch)
        while !walk.isOver {
            let writing = try to.begin()
            do throws(StoreError) {
                let tables = try StoreTables(writing, create: false)
                try walk.copyBatch(to: tables[table], in: writing)
            } catch {
                writing.abort()
                throw error
            }
            try writing.commit()
        }
        if let failure = walk.failure { throw failure }
        return walk.leftOut
    }

    /// The map of the source, which LMDB enlarges to the used size, so that address space remains
    /// for the target.
    private static let leastMapBytes = 1 << 20

    /// Creates all tables.
    private func prepare(_ environment: LMDBEnvironment) throws(StoreError) {
        let transaction = try environment.begin()
        do throws(StoreError) {
            _ = try StoreTables(transaction, create: true)
        } catch {
            transaction.abort()
            throw error
        }
        try transaction.commit()
    }
}

/// A walk over the keys of a damaged table that copies them.
private struct DamagedTableWalk {
    private let cursor: LMDBCursor
    private let isBackwards: Bool
    private let batch: ReadableCopy.Batch
    private let longestValue: Int
    /// The number of keys that may still follow.
    ///
    /// A damaged page may refer to an earlier one, which makes a cycle.
    private var remaining: Int
    private var entry: LMDBCursor.Entry?
    /// The number of keys that were left out.
    private(set) var leftOut = 0
    /// The error that ended the walk early.
    private(set) var failure: StoreError?

    /// Begins at the first key of a table, or at the last if `backwards` is true.
    init(
        _ cursor: LMDBCursor, backwards: Bool, storeBytes: Int, _ batch: ReadableCopy.Batch
    ) {
        (self.cursor, isBackwards, longestValue) = (cursor, backwards, storeBytes)
        self.batch = batch
        // A key and its value take more than eight bytes.
        remaining = storeBytes / 8
        move { () throws(StoreError) in try cursor.end(isLast: backwards) }
    }

    /// Whether all keys were copied, or the walk has ended early.
    var isOver: Bool { failure != nil || entry == nil }

    /// Copies some keys into an open transaction.
    ///
    /// Throws only if the target can't be written; see ``failure``.
    mutating func copyBatch(
        to table: LMDBTable, in writing: LMDBTransaction
    ) throws(StoreError) {
        var (keys, bytes) = (0, 0)
        while failure == nil, let next = entry, keys < batch.keys, bytes < batch.bytes {
            guard try copy(next, to: table, in: writing) else { return entry = nil }
            keys += 1
            bytes += next.key.count + next.value.count
            step()
        }
    }

    /// Copies a key and its value; returns false if a walk backwards meets a key that was copied
    /// before.
    private mutating func copy(
        _ entry: LMDBCursor.Entry, to table: LMDBTable, in writing: LMDBTransaction
    ) throws(StoreError) -> Bool {
        guard (1...StoreKey.longest).contains(entry.key.count), entry.value.count <= longestValue
        else {
            leftOut += 1
            return true
        }
        let key = Array(entry.key)
        guard try writing.get(table, key) == nil else {
            if !isBackwards { leftOut += 1 }
            return !isBackwards
        }
        try writing.put(table, key, Array(entry.value))
        return true
    }

    private mutating func step() {
        remaining -= 1
        guard remaining > 0 else {
            return failure = StoreError(.damaged, "the keys of a table form a cycle")
        }
        let (cursor, isBackwards) = (cursor, isBackwards)
        move { () throws(StoreError) in try cursor.step(isBackwards: isBackwards) }
    }

    /// Sets the current key, or the error that ends the walk.
    private mutating func move(_ next: () throws(StoreError) -> LMDBCursor.Entry?) {
        do throws(StoreError) {
            entry = try next()
        } catch {
            failure = error
        }
    }
}
