import CLMDB

/// A bidirectional cursor on a table in an open transaction.
///
/// The cursor must not be used after the end of the transaction or a write to the table.
final class LMDBCursor {
    /// A key and its value in LMDB's pages, valid until the next write.
    struct Entry {
        let key: UnsafeRawBufferPointer
        let value: UnsafeRawBufferPointer
    }

    private let handle: OpaquePointer?
    private let environment: LMDBEnvironment

    /// Takes ownership of a cursor opened by LMDB.
    init(_ handle: OpaquePointer?, _ environment: LMDBEnvironment) {
        self.handle = handle
        self.environment = environment
    }

    deinit { mdb_cursor_close(handle) }

    /// Moves to the first key of a range; returns nil if the range is empty.
    func first(in range: KeyRange) throws(StoreError) -> Entry? {
        guard !range.isEmpty, let entry = try seek(range.lower), range.isBelowEnd(entry.key)
        else { return nil }
        return entry
    }

    /// Moves to the last key of a range; returns nil if the range is empty.
    func last(in range: KeyRange) throws(StoreError) -> Entry? {
        guard !range.isEmpty else { return nil }
        let isBeyond = try range.upper.map { end throws(StoreError) in try seek(end) } ?? nil
        guard let entry = try get(isBeyond == nil ? MDB_LAST : MDB_PREV),
            range.contains(entry.key)
        else { return nil }
        return entry
    }

    /// Moves to the first or the last key of the table.
    func end(isLast: Bool) throws(StoreError) -> Entry? { try get(isLast ? MDB_LAST : MDB_FIRST) }

    /// Moves to the next or the previous key.
    func step(isBackwards: Bool) throws(StoreError) -> Entry? {
        try get(isBackwards ? MDB_PREV : MDB_NEXT)
    }

    private func seek(_ start: [UInt8]) throws(StoreError) -> Entry? {
        guard !start.isEmpty else { return try get(MDB_FIRST) }
        var value = MDB_val()
        var found = MDB_val()
        let status = start.withUnsafeBytes { bytes in
            found = MDB_val(bytes)
            return mdb_cursor_get(handle, &found, &value, MDB_SET_RANGE)
        }
        return try entry(status, found, value)
    }

    private func get(_ operation: MDB_cursor_op) throws(StoreError) -> Entry? {
        var (key, value) = (MDB_val(), MDB_val())
        let status = mdb_cursor_get(handle, &key, &value, operation)
        return try entry(status, key, value)
    }

    private func entry(
        _ status: Int32, _ key: MDB_val, _ value: MDB_val
    ) throws(StoreError) -> Entry? {
        if status == MDB_NOTFOUND { return nil }
        try environment.check(status, "search")
        return Entry(
            key: UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size),
            value: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }
}
