/// Copies the readable keys of a damaged store into a new store.
///
/// LMDB's own copy fails if it can't reach every page. Here each table is read separately: from its
/// beginning up to the first unreadable page, and from its end back to that page. Keys that are out
/// of order in a damaged page are inserted in the correct order.
package struct ReadableCopy {
    private let source: String
    private let target: String
    /// The maximum number of keys and bytes written in one transaction.
    ///
    /// At most this much is lost if a damaged page ends the process.
    private static let batch = (keys: 256, bytes: 4 << 20)

    /// Creates a copy from one directory to another, which must exist and be unused.
    package init(from source: String, to target: String) {
        self.source = source
        self.target = target
    }

    /// Copies one table up to a key that was copied before; durable on return.
    ///
    /// Begins at the table's end if `backwards` is true. Throws ``StoreError`` at the first
    /// unreadable page, after copying all keys before it. A damaged file may also end the process
    /// with SIGBUS or SIGSEGV; at most one batch is then missing.
    package func copy(_ table: StoreTable, backwards: Bool = false) throws(StoreError) {
        let from = try LMDBEnvironment(
            path: source, mapBytes: nil, tables: StoreTables.count, readOnly: true,
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
        var failure: StoreError?
        let most = from.usage.usedBytes
        // The number of keys is bounded, because a damaged page may refer to an earlier one, which
        // makes a cycle.
        var left = most / 8
        var entry: LMDBCursor.Entry?
        do throws(StoreError) {
            entry = try cursor.end(isLast: backwards)
        } catch { failure = error }
        while failure == nil, entry != nil, left > 0 {
            let writing = try to.begin()
            do throws(StoreError) {
                let tables = try StoreTables(writing, create: false)
                var (keys, bytes) = (0, 0)
                while let next = entry, keys < Self.batch.keys, bytes < Self.batch.bytes {
                    let isPlausible =
                        (1...StoreKey.longest).contains(next.key.count) && next.value.count <= most
                    if isPlausible {
                        let key = Array(next.key)
                        if try writing.get(tables[table], key) == nil {
                            try writing.put(tables[table], key, Array(next.value))
                        } else if backwards {
                            left = 0
                            break
                        }
                        bytes += next.key.count + next.value.count
                    }
                    keys += 1
                    do throws(StoreError) {
                        entry = try cursor.step(isBackwards: backwards)
                    } catch {
                        failure = error
                        break
                    }
                }
                left -= keys
            } catch {
                writing.abort()
                throw error
            }
            try writing.commit()
        }
        if let failure { throw failure }
    }

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
