import CLMDB
import TandemModel

/// A table of the environment.
typealias LMDBTable = MDB_dbi

/// An LMDB transaction: point reads and writes, and range scans.
///
/// Returned buffers point into LMDB's pages, and are valid until the next write or the end of the
/// transaction.
final class LMDBTransaction {
    private let handle: OpaquePointer
    private let environment: LMDBEnvironment
    private var isOpen = true
    /// The number of calls that are currently reading borrowed pages.
    private var borrowCount = 0
    /// The number of writes to each table.
    ///
    /// A write that is known to modify the same page as the previous one isn't counted.
    private var writes: [Int]
    /// The address of the last new value of each table.
    private var newest: [UInt]
    /// The cursor of each table for point reads and writes, opened on first use.
    private var cursors: [OpaquePointer?]

    init(_ handle: OpaquePointer, _ environment: LMDBEnvironment) {
        self.handle = handle
        self.environment = environment
        // LMDB has two tables of its own.
        let count = 2 + environment.tableCount
        writes = [Int](repeating: 0, count: count)
        newest = [UInt](repeating: 0, count: count)
        cursors = [OpaquePointer?](repeating: nil, count: count)
    }

    deinit { abort() }

    /// Opens a table; a write transaction can create it.
    func table(_ name: String, create: Bool) throws(StoreError) -> LMDBTable {
        assert(isOpen, "A table is opened before the transaction ends.")
        var table: MDB_dbi = 0
        let flags = create ? UInt32(MDB_CREATE) : 0
        try environment.check(mdb_dbi_open(handle, name, flags, &table), "open table \(name) of")
        return table
    }

    /// Commits the changes and ends the transaction; durable on return.
    func commit() throws(StoreError) {
        precondition(isOpen, "The transaction has ended.")
        expectNoBorrows()
        isOpen = false
        closeCursors()
        try environment.check(mdb_txn_commit(handle), "commit to")
    }

    /// Discards the changes and ends the transaction.
    func abort() {
        guard isOpen else { return }
        expectNoBorrows()
        isOpen = false
        closeCursors()
        mdb_txn_abort(handle)
    }

    /// Calls `body`, which reads borrowed pages.
    ///
    /// Until `body` returns, a write or the end of the transaction traps.
    func withBorrowedPages<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        assert(isOpen, "Pages are borrowed from an open transaction.")
        borrowCount += 1
        defer {
            borrowCount -= 1
            assert(isOpen, "The transaction does not end while its pages are borrowed.")
        }
        try body()
    }

    private func expectNoBorrows() {
        precondition(borrowCount == 0, "Pages must not be written while they are borrowed.")
    }

    // MARK: Cursors

    /// Returns the shared cursor of a table, which finds a nearby key without a search from the
    /// root.
    ///
    /// All access except scans and removals uses this cursor, and a removal closes it. While the
    /// cursor is open, the table is changed only through it.
    private func cursor(_ table: LMDBTable) throws(StoreError) -> OpaquePointer? {
        assert(isOpen, "A transaction is not used after its end.")
        assert(Int(table) < cursors.count, "There are at most `tableCount` tables.")
        if let cursor = cursors[Int(table)] { return cursor }
        var cursor: OpaquePointer?
        try environment.check(mdb_cursor_open(handle, table, &cursor), "use a table of")
        cursors[Int(table)] = cursor
        return cursor
    }

    private func closeCursor(_ table: LMDBTable) {
        guard let cursor = cursors[Int(table)] else { return }
        mdb_cursor_close(cursor)
        cursors[Int(table)] = nil
    }

    private func closeCursors() {
        for table in cursors.indices { closeCursor(LMDBTable(table)) }
    }

    // MARK: Keys

    /// Returns the value of a key, or nil if the key doesn't exist.
    func get(_ table: LMDBTable, _ key: [UInt8]) throws(StoreError) -> UnsafeRawBufferPointer? {
        let cursor = try cursor(table)
        var value = MDB_val()
        return try found(key.withUnsafeBytes { find(cursor, $0, &value) }, value)
    }

    /// Returns the value of a key, or nil if the key doesn't exist.
    func get(_ table: LMDBTable, _ key: SmallKey) throws(StoreError) -> UnsafeRawBufferPointer? {
        let cursor = try cursor(table)
        var value = MDB_val()
        return try found(key.withBytes { find(cursor, $0, &value) }, value)
    }

    private func find(
        _ cursor: OpaquePointer?, _ key: UnsafeRawBufferPointer, _ value: inout MDB_val
    ) -> Int32 {
        var key = MDB_val(key)
        return mdb_cursor_get(cursor, &key, &value, MDB_SET)
    }

    private func found(
        _ status: Int32, _ value: MDB_val
    ) throws(StoreError) -> UnsafeRawBufferPointer? {
        if status == MDB_NOTFOUND { return nil }
        try environment.check(status, "read from")
        return UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }

    /// Sets the value of a key to `count` bytes, which `fill` writes in place.
    func put(
        _ table: LMDBTable, _ key: SmallKey, count: Int,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(StoreError) {
        let cursor = try writing(table)
        var value = MDB_val(mv_size: count, mv_data: nil)
        let status = key.withBytes { set(cursor, $0, &value, MDB_RESERVE) }
        try environment.check(status, "write to")
        assert(value.mv_size == count, "The reserved space has the size of the value.")
        discountWriteToSamePage(value, after: key.count, in: table)
        fill(UnsafeMutableRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }

    /// Replaces the value of an existing key with `count` bytes, which `fill` writes in place.
    ///
    /// Returns false if the key doesn't exist.
    func replace(
        _ table: LMDBTable, _ key: SmallKey, count: Int,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(StoreError) -> Bool {
        let cursor = try writing(table)
        var value = MDB_val()
        let status = key.withBytes { bytes in
            let found = find(cursor, bytes, &value)
            guard found == 0, value.mv_size == count else { return found }
            // A value of the same size is overwritten in place, without a second search.
            let status = set(cursor, bytes, &value, MDB_CURRENT | MDB_RESERVE)
            if status == 0 {
                fill(UnsafeMutableRawBufferPointer(start: value.mv_data, count: count))
            }
            return status
        }
        if status == MDB_NOTFOUND { return false }
        try environment.check(status, "write to")
        if value.mv_size != count { try put(table, key, count: count, fill: fill) }
        return true
    }

    /// Sets the value of a key to a tag.
    func put(_ table: LMDBTable, _ key: SmallKey, tag: EntityTag) throws(StoreError) {
        try put(table, key, count: 2) { $0.storeBytes(of: tag.bigEndian, as: UInt16.self) }
    }

    /// Sets the value of a key to a tag.
    func put(_ table: LMDBTable, _ key: [UInt8], tag: EntityTag) throws(StoreError) {
        let cursor = try writing(table)
        let status = withUnsafeBytes(of: tag.bigEndian) { set(cursor, key, $0) }
        try environment.check(status, "write to")
    }

    /// Sets the value of a key.
    func put(_ table: LMDBTable, _ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        let cursor = try writing(table)
        try environment.check(value.withUnsafeBytes { set(cursor, key, $0) }, "write to")
    }

    private func set(
        _ cursor: OpaquePointer?, _ key: [UInt8], _ value: UnsafeRawBufferPointer
    ) -> Int32 {
        var value = MDB_val(value)
        return key.withUnsafeBytes { set(cursor, $0, &value, 0) }
    }

    private func set(
        _ cursor: OpaquePointer?, _ key: UnsafeRawBufferPointer, _ value: inout MDB_val,
        _ flags: Int32
    ) -> Int32 {
        var key = MDB_val(key)
        return mdb_cursor_put(cursor, &key, &value, UInt32(flags))
    }

    /// Removes a key; returns false if it doesn't exist.
    @discardableResult
    func delete(_ table: LMDBTable, _ key: SmallKey) throws(StoreError) -> Bool {
        try removed(key.withBytes { remove(table, $0) })
    }

    /// Removes a key; returns false if it doesn't exist.
    @discardableResult
    func delete(_ table: LMDBTable, _ key: [UInt8]) throws(StoreError) -> Bool {
        try removed(key.withUnsafeBytes { remove(table, $0) })
    }

    private func remove(_ table: LMDBTable, _ key: UnsafeRawBufferPointer) -> Int32 {
        expectNoBorrows()
        closeCursor(table)
        writes[Int(table)] += 1
        var key = MDB_val(key)
        return mdb_del(handle, table, &key, nil)
    }

    private func removed(_ status: Int32) throws(StoreError) -> Bool {
        if status == MDB_NOTFOUND { return false }
        try environment.check(status, "delete from")
        return true
    }

    /// Discounts a write to the same page as the previous write.
    ///
    /// LMDB fills a page from its end, so a new value in the same page is right before the previous
    /// entry's header and key.
    private func discountWriteToSamePage(
        _ value: MDB_val, after keyBytes: Int, in table: LMDBTable
    ) {
        let address = UInt(bitPattern: value.mv_data)
        let distance = newest[Int(table)] &- address
        newest[Int(table)] = address
        let most = UInt(Self.nodeHeaderBytes + keyBytes + value.mv_size + 1)
        if (1...most).contains(distance) { writes[Int(table)] -= 1 }
        assert(writes[Int(table)] >= 0, "Only a counted write is undone.")
    }

    /// The size of LMDB's header before each key, in bytes.
    private static let nodeHeaderBytes = 8

    /// Returns the approximate number of pages of a table that were modified.
    ///
    /// A page is counted again each time writes return to it.
    func writes(_ table: LMDBTable) -> Int { writes[Int(table)] }

    private func writing(_ table: LMDBTable) throws(StoreError) -> OpaquePointer? {
        expectNoBorrows()
        writes[Int(table)] += 1
        return try cursor(table)
    }

    /// Returns the number of pages of a table.
    func pages(_ table: LMDBTable) throws(StoreError) -> Int {
        var stat = MDB_stat()
        try environment.check(mdb_stat(handle, table, &stat), "measure")
        return stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages
    }

    /// Returns the number of free pages of the file, including the pages of the free list.
    func freePages() throws(StoreError) -> Int {
        var cursor: OpaquePointer?
        // LMDB's free list is table 0; each of its values begins with the number of pages in it.
        try environment.check(mdb_cursor_open(handle, 0, &cursor), "measure")
        defer { mdb_cursor_close(cursor) }
        var (key, value, count) = (MDB_val(), MDB_val(), try pages(0))
        while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 {
            count += value.mv_data?.loadUnaligned(as: Int.self) ?? 0
        }
        return count
    }

    /// Removes all keys of a table.
    func clear(_ table: LMDBTable) throws(StoreError) {
        expectNoBorrows()
        closeCursor(table)
        try environment.check(mdb_drop(handle, table, 0), "clear a table of")
    }

    /// Returns the number of keys in a table.
    func count(_ table: LMDBTable) throws(StoreError) -> Int {
        var stat = MDB_stat()
        try environment.check(mdb_stat(handle, table, &stat), "measure")
        return stat.ms_entries
    }

    /// Returns the total number of keys in several tables.
    func count(_ tables: [LMDBTable]) throws(StoreError) -> Int {
        var sum = 0
        for table in tables { sum += try count(table) }
        return sum
    }

    /// Opens a separate cursor on a table, for reading in both directions.
    func ownCursor(_ table: LMDBTable) throws(StoreError) -> LMDBCursor {
        var cursor: OpaquePointer?
        try environment.check(mdb_cursor_open(handle, table, &cursor), "scan")
        return LMDBCursor(cursor, environment)
    }

    /// Calls `body` with each key and value from `start` in ascending order, until it returns
    /// false.
    ///
    /// `body` must not write to the table.
    func scan(
        _ table: LMDBTable, from start: [UInt8],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try walk(table, from: start, body)
    }

    /// Calls `body` with each key and value of a range, in ascending order.
    ///
    /// `body` is inlined into the loop, so keep its state between keys in local variables.
    @inline(__always)
    func scan(
        _ table: LMDBTable, in range: KeyRange,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        try range.withEnd { end throws(StoreError) in
            try walk(table, from: range.lower) { (key, value) throws(StoreError) -> Bool in
                guard end.isAbove(key) else { return false }
                try body(key, value)
                return true
            }
        }
    }

    @inline(__always)
    private func walk(
        _ table: LMDBTable, from start: [UInt8],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        assert(isOpen, "A table is scanned before the transaction ends.")
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
        var pages = PagePrefetcher()
        while status == 0 {
            pages.visit(key.mv_data)
            let keyBytes = UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size)
            let valueBytes = UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
            guard try body(keyBytes, valueBytes) else { return }
            status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        if status != MDB_NOTFOUND { try environment.check(status, "scan") }
    }

    /// Calls `body` with the rest of each key that begins with `prefix`, and with the value.
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

/// A prefetcher of the pages that a scan reaches.
///
/// The entries of an LMDB page are stored in order of insertion. A scan of an index therefore jumps
/// back and forth within a page, and would wait for memory at each key. Short scans, which are the
/// majority, do not prefetch.
private struct PagePrefetcher {
    private var seen = 0
    /// The last two pages.
    ///
    /// Two are needed, because an LMDB page that changed since the last commit isn't aligned to a
    /// page of the system.
    private var (last, other) = (0, 0)

    private static var pageBits: Int { 12 }
    /// The number of keys above which prefetching pays off.
    private static var shortWalk: Int { 16 }

    @inline(__always)
    mutating func visit(_ key: UnsafeMutableRawPointer?) {
        seen += 1
        guard seen > Self.shortWalk else { return }
        let page = Int(bitPattern: key) >> Self.pageBits
        guard page != last, page != other else { return }
        (last, other) = (page, last)
        Self.fetch(page)
    }

    /// Prefetches a page; not inlined, unlike the rest, so that all scans share the code.
    @inline(never)
    private static func fetch(_ page: Int) {
        tandem_prefetch(UnsafeRawPointer(bitPattern: page << pageBits), 1 << pageBits)
    }
}

extension MDB_val {
    /// Wraps bytes that LMDB only reads.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
