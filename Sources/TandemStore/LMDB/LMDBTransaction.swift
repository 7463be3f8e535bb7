import CLMDB
import TandemModel

/// A table of the environment.
typealias LMDBTable = MDB_dbi

/// An LMDB transaction: point reads and writes, and range scans.
///
/// Buffers handed out point into LMDB's pages and are valid until the next write or the end of the transaction.
final class LMDBTransaction {
    private let handle: OpaquePointer
    private let environment: LMDBEnvironment
    private var isOpen = true
    /// How many readers look at what lies in the pages.
    private var lent = 0
    /// How often each table was written to, what is known to have gone into the page of the write before counted with that.
    private var writes: [Int]
    /// Where the last new value of each table lies.
    private var newest: [UInt]
    /// The cursor of each table through which it is read and written, once there is one.
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
        expectNothingLent()
        isOpen = false
        closeCursors()
        try environment.check(mdb_txn_commit(handle), "commit to")
    }

    /// Throws everything away and ends the transaction.
    func abort() {
        guard isOpen else { return }
        expectNothingLent()
        isOpen = false
        closeCursors()
        mdb_txn_abort(handle)
    }

    /// Lets `body` read in the pages: until it returns nothing may be written, and the transaction may not end.
    func lend<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        lent += 1
        defer { lent -= 1 }
        try body()
    }

    private func expectNothingLent() {
        precondition(lent == 0, "What is being read in place would be overwritten.")
    }

    // MARK: Cursors

    /// A table's own cursor: where it stands near a key already, finding that takes no search from the root.
    ///
    /// Everything but scans and removals goes through it, and a removal closes it: so while it is open nothing else
    /// changes the table under it.
    private func cursor(_ table: LMDBTable) throws(StoreError) -> OpaquePointer? {
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

    /// The value of a key, or nil.
    func get(_ table: LMDBTable, _ key: [UInt8]) throws(StoreError) -> UnsafeRawBufferPointer? {
        let cursor = try cursor(table)
        var value = MDB_val()
        return try found(key.withUnsafeBytes { find(cursor, $0, &value) }, value)
    }

    /// The value of a key, or nil.
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

    /// Sets the value of a key to `count` bytes, which `fill` has to write at once.
    func put(
        _ table: LMDBTable, _ key: SmallKey, count: Int,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(StoreError) {
        let cursor = try writing(table)
        var value = MDB_val(mv_size: count, mv_data: nil)
        let status = key.withBytes { set(cursor, $0, &value, MDB_RESERVE) }
        try environment.check(status, "write to")
        note(value, behind: key.count, in: table)
        fill(UnsafeMutableRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }

    /// Sets the value of a key that is there to `count` bytes, which `fill` has to write at once; false when it is not there.
    func replace(
        _ table: LMDBTable, _ key: SmallKey, count: Int,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(StoreError) -> Bool {
        let cursor = try writing(table)
        var value = MDB_val()
        let status = key.withBytes { bytes in
            let found = find(cursor, bytes, &value)
            guard found == 0, value.mv_size == count else { return found }
            // Of the same size it takes the old one's place, without a second search.
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

    /// Removes a key; false when there was none.
    @discardableResult
    func delete(_ table: LMDBTable, _ key: SmallKey) throws(StoreError) -> Bool {
        try removed(key.withBytes { remove(table, $0) })
    }

    /// Removes a key; false when there was none.
    @discardableResult
    func delete(_ table: LMDBTable, _ key: [UInt8]) throws(StoreError) -> Bool {
        try removed(key.withUnsafeBytes { remove(table, $0) })
    }

    private func remove(_ table: LMDBTable, _ key: UnsafeRawBufferPointer) -> Int32 {
        expectNothingLent()
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

    /// Takes a write back that went into the same page as the one before.
    ///
    /// LMDB fills a page from its end: there a new value lies right before the last one, with its key and a header between them.
    private func note(_ value: MDB_val, behind keyBytes: Int, in table: LMDBTable) {
        let place = UInt(bitPattern: value.mv_data)
        let distance = newest[Int(table)] &- place
        newest[Int(table)] = place
        let most = UInt(Self.nodeHeaderBytes + keyBytes + value.mv_size + 1)
        if (1...most).contains(distance) { writes[Int(table)] -= 1 }
    }

    /// What LMDB puts before the key of each value.
    private static let nodeHeaderBytes = 8

    /// About how many pages of a table were written to, none more often than it was left.
    func writes(_ table: LMDBTable) -> Int { writes[Int(table)] }

    private func writing(_ table: LMDBTable) throws(StoreError) -> OpaquePointer? {
        expectNothingLent()
        writes[Int(table)] += 1
        return try cursor(table)
    }

    /// The pages of a table.
    func pages(_ table: LMDBTable) throws(StoreError) -> Int {
        var stat = MDB_stat()
        try environment.check(mdb_stat(handle, table, &stat), "measure")
        return stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages
    }

    /// The pages of the file that hold nothing, with those of the list of them.
    func freePages() throws(StoreError) -> Int {
        var cursor: OpaquePointer?
        // LMDB's own list of them is its table 0; each of its values begins with how many it names.
        try environment.check(mdb_cursor_open(handle, 0, &cursor), "measure")
        defer { mdb_cursor_close(cursor) }
        var (key, value, count) = (MDB_val(), MDB_val(), try pages(0))
        while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 {
            count += value.mv_data?.loadUnaligned(as: Int.self) ?? 0
        }
        return count
    }

    /// Empties a table.
    func clear(_ table: LMDBTable) throws(StoreError) {
        expectNothingLent()
        closeCursor(table)
        try environment.check(mdb_drop(handle, table, 0), "clear a table of")
    }

    /// The number of keys in a table.
    func count(_ table: LMDBTable) throws(StoreError) -> Int {
        var stat = MDB_stat()
        try environment.check(mdb_stat(handle, table, &stat), "measure")
        return stat.ms_entries
    }

    /// The number of keys in some tables.
    func count(_ tables: [LMDBTable]) throws(StoreError) -> Int {
        var sum = 0
        for table in tables { sum += try count(table) }
        return sum
    }

    /// A cursor of its own on a table, for whoever goes both ways.
    func ownCursor(_ table: LMDBTable) throws(StoreError) -> LMDBCursor {
        var cursor: OpaquePointer?
        try environment.check(mdb_cursor_open(handle, table, &cursor), "scan")
        return LMDBCursor(cursor, environment)
    }

    /// Calls `body` with every key and value from `start` on, ascending, until it returns false.
    ///
    /// `body` must not write to the table.
    func scan(
        _ table: LMDBTable, from start: [UInt8],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try walk(table, from: start, body)
    }

    /// Calls `body` with every key and value of a range, ascending.
    ///
    /// `body` becomes part of the loop: what it keeps between two keys lies best in local variables.
    @inline(__always)
    func scan(
        _ table: LMDBTable, in range: KeyRange,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        try range.withEnd { end throws(StoreError) in
            try walk(table, from: range.lower) { (key, value) throws(StoreError) -> Bool in
                guard end.isBehind(key) else { return false }
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
        var pages = PagesAhead()
        while status == 0 {
            pages.note(key.mv_data)
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

/// Has each page that a walk comes to fetched whole.
///
/// Entries lie in a page of LMDB's in the order of their insertion: in an index a walk jumps about, and would wait for memory at each key. Short walks, which are
/// most, pay nothing.
private struct PagesAhead {
    private var seen = 0
    /// The last two pages, as one that was changed since the last commit does not begin where the machine's pages do.
    private var (last, other) = (0, 0)

    private static var pageBits: Int { 12 }
    /// So many keys are read before it is worth while.
    private static var shortWalk: Int { 16 }

    @inline(__always)
    mutating func note(_ key: UnsafeMutableRawPointer?) {
        seen += 1
        guard seen > Self.shortWalk else { return }
        let page = Int(bitPattern: key) >> Self.pageBits
        guard page != last, page != other else { return }
        (last, other) = (page, last)
        Self.fetch(page)
    }

    /// One for all scans, into which the rest is built.
    @inline(never)
    private static func fetch(_ page: Int) {
        tandem_prefetch(UnsafeRawPointer(bitPattern: page << pageBits), 1 << pageBits)
    }
}

extension MDB_val {
    /// The bytes; LMDB does not write through it.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
