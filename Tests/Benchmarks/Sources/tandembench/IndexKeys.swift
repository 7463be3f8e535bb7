import CLMDBFloor
import Glibc

/// The keys of an index over one number, read from the daemon's own file: a count must visit at
/// least these.
///
/// The keys are read without a lock, so no process may write while they are being read.
final class IndexKeys {
    private let environment: OpaquePointer
    private var table: MDB_dbi = 0
    private let first: [UInt8]
    private let last: [UInt8]

    /// Opens the file, and finds the range of keys from one number to another.
    init(_ path: String, _ bounds: (Int64, Int64)) throws {
        var handle: OpaquePointer?
        mdb_env_create(&handle)
        guard let handle else { throw Failure("no environment") }
        environment = handle
        mdb_env_set_maxdbs(handle, 32)
        let flags = UInt32(MDB_RDONLY) | UInt32(MDB_NOLOCK) | UInt32(MDB_NOTLS)
        let status = mdb_env_open(handle, path, flags, 0o600)
        guard status == 0 else { throw Failure("\(path) can't be opened: \(status)") }
        (first, last) = try Self.bounds(handle, bounds, &table)
    }

    deinit { mdb_env_close(environment) }

    /// Returns the number of keys, and the time it took to walk them.
    func walk() throws -> (count: Int, microseconds: Double) {
        let start = now()
        var count = 0
        try Self.reading(environment) { transaction in
            var cursor: OpaquePointer?
            mdb_cursor_open(transaction, table, &cursor)
            defer { mdb_cursor_close(cursor) }
            var (key, value) = (MDB_val(), MDB_val())
            var status = Self.seek(cursor, first, &key, &value)
            while status == 0, memcmp(key.mv_data, last, last.count) <= 0 {
                count += 1
                status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            }
        }
        return (count, microseconds(from: start, to: now()))
    }

    /// Returns the key of an index number and a non-nil number, as the store encodes them.
    private static func key(_ index: UInt16, _ number: Int64) -> [UInt8] {
        let ordered = UInt64(bitPattern: number) ^ (1 << 63)
        return withUnsafeBytes(of: index.bigEndian, Array.init) + [1]
            + withUnsafeBytes(of: ordered.bigEndian, Array.init)
    }

    /// Finds the index: the one whose keys consist of one number and the object's.
    private static func bounds(
        _ environment: OpaquePointer, _ bounds: (Int64, Int64), _ table: inout MDB_dbi
    ) throws -> ([UInt8], [UInt8]) {
        var found: UInt16?
        try reading(environment) { transaction in
            guard mdb_dbi_open(transaction, "indexes", 0, &table) == 0 else { return }
            var cursor: OpaquePointer?
            mdb_cursor_open(transaction, table, &cursor)
            defer { mdb_cursor_close(cursor) }
            for index in UInt16(1)...256 {
                var (key, value) = (MDB_val(), MDB_val())
                let wanted = Self.key(index, bounds.0)
                guard seek(cursor, wanted, &key, &value) == 0, key.mv_size == wanted.count + 8,
                    memcmp(key.mv_data, wanted, wanted.count) == 0
                else { continue }
                found = index
            }
        }
        guard let found else { throw Failure("the store has no such index") }
        return (key(found, bounds.0), key(found, bounds.1))
    }

    private static func seek(
        _ cursor: OpaquePointer?, _ bytes: [UInt8], _ key: inout MDB_val, _ value: inout MDB_val
    ) -> Int32 {
        bytes.withUnsafeBytes { bytes in
            key = MDB_val(
                mv_size: bytes.count,
                mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
        }
    }

    private static func reading(
        _ environment: OpaquePointer, _ body: (OpaquePointer?) -> Void
    ) throws {
        var transaction: OpaquePointer?
        guard mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction) == 0 else {
            throw Failure("the store can't be read")
        }
        body(transaction)
        // A table's handle stays valid only if the transaction that opened it is committed.
        mdb_txn_commit(transaction)
    }
}
