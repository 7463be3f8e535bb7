import CLMDB

/// A table of the environment.
typealias LMDBTable = MDB_dbi

/// An LMDB transaction: point reads and writes, and range scans.
///
/// Buffers handed out point into LMDB's pages and are valid until the next write or the end of the transaction.
final class LMDBTransaction {
    private let handle: OpaquePointer
    private let environment: LMDBEnvironment
    private var isOpen = true

    init(_ handle: OpaquePointer, _ environment: LMDBEnvironment) {
        self.handle = handle
        self.environment = environment
    }

    deinit { abort() }

    /// Opens a table, creating it in a write transaction.
    func table(_ name: String, create: Bool) throws(StoreError) -> LMDBTable {
        var table: MDB_dbi = 0
        let flags = create ? UInt32(MDB_CREATE) : 0
        try environment.check(mdb_dbi_open(handle, name, flags, &table), "open table \(name) of")
        return table
    }

    /// Makes everything durable and ends the transaction.
    func commit() throws(StoreError) {
        precondition(isOpen, "The transaction has ended.")
        isOpen = false
        try environment.check(mdb_txn_commit(handle), "commit to")
    }

    /// Throws everything away and ends the transaction.
    func abort() {
        guard isOpen else { return }
        isOpen = false
        mdb_txn_abort(handle)
    }

    /// The value of a key, or nil.
    func get(_ table: LMDBTable, _ key: [UInt8]) throws(StoreError) -> UnsafeRawBufferPointer? {
        var value = MDB_val()
        let status = key.withUnsafeBytes { bytes in
            var key = MDB_val(bytes)
            return mdb_get(handle, table, &key, &value)
        }
        if status == MDB_NOTFOUND { return nil }
        try environment.check(status, "read from")
        return UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }

    /// The value of a key, or nil.
    func get(_ table: LMDBTable, _ key: SmallKey) throws(StoreError) -> UnsafeRawBufferPointer? {
        var value = MDB_val()
        let status = key.withBytes { bytes in
            var key = MDB_val(bytes)
            return mdb_get(handle, table, &key, &value)
        }
        if status == MDB_NOTFOUND { return nil }
        try environment.check(status, "read from")
        return UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }

    /// Sets the value of a key to `count` bytes, which `fill` has to write at once.
    func put(
        _ table: LMDBTable, _ key: SmallKey, count: Int,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(StoreError) {
        var value = MDB_val(mv_size: count, mv_data: nil)
        let status = key.withBytes { bytes in
            var key = MDB_val(bytes)
            return mdb_put(handle, table, &key, &value, UInt32(MDB_RESERVE))
        }
        try environment.check(status, "write to")
        fill(UnsafeMutableRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }

    /// Removes a key; false when there was none.
    @discardableResult
    func delete(_ table: LMDBTable, _ key: SmallKey) throws(StoreError) -> Bool {
        let status = key.withBytes { bytes in
            var key = MDB_val(bytes)
            return mdb_del(handle, table, &key, nil)
        }
        if status == MDB_NOTFOUND { return false }
        try environment.check(status, "delete from")
        return true
    }

    /// Sets the value of a key.
    func put(_ table: LMDBTable, _ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        let status = key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                var key = MDB_val(key)
                var value = MDB_val(value)
                return mdb_put(handle, table, &key, &value, 0)
            }
        }
        try environment.check(status, "write to")
    }

    /// Removes a key; false when there was none.
    @discardableResult
    func delete(_ table: LMDBTable, _ key: [UInt8]) throws(StoreError) -> Bool {
        let status = key.withUnsafeBytes { bytes in
            var key = MDB_val(bytes)
            return mdb_del(handle, table, &key, nil)
        }
        if status == MDB_NOTFOUND { return false }
        try environment.check(status, "delete from")
        return true
    }

    /// Empties a table.
    func clear(_ table: LMDBTable) throws(StoreError) {
        try environment.check(mdb_drop(handle, table, 0), "clear a table of")
    }

    /// The number of keys in a table.
    func count(_ table: LMDBTable) throws(StoreError) -> Int {
        var stat = MDB_stat()
        try environment.check(mdb_stat(handle, table, &stat), "measure")
        return stat.ms_entries
    }

    /// Calls `body` with every key and value from `start` on, ascending, until it returns false.
    ///
    /// `body` must not write to the table.
    func scan(
        _ table: LMDBTable, from start: [UInt8],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var cursor: OpaquePointer?
        try environment.check(mdb_cursor_open(handle, table, &cursor), "scan")
        defer { mdb_cursor_close(cursor) }
        var value = MDB_val()
        var status: Int32 = 0
        var key = MDB_val()
        status = start.withUnsafeBytes { bytes in
            key = MDB_val(bytes)
            return mdb_cursor_get(cursor, &key, &value, start.isEmpty ? MDB_FIRST : MDB_SET_RANGE)
        }
        while status == 0 {
            let keyBytes = UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size)
            let valueBytes = UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
            guard try body(keyBytes, valueBytes) else { return }
            status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        if status != MDB_NOTFOUND { try environment.check(status, "scan") }
    }

    /// Calls `body` with every key that begins with `prefix`, without it, and its value.
    func scan(
        _ table: LMDBTable, prefix: [UInt8],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try scan(table, from: prefix) { (key, value) throws(StoreError) -> Bool in
            guard key.starts(with: prefix) else { return false }
            return try body(UnsafeRawBufferPointer(rebasing: key[prefix.count...]), value)
        }
    }
}

extension MDB_val {
    /// The bytes; LMDB does not write through it.
    fileprivate init(_ bytes: UnsafeRawBufferPointer) {
        self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
