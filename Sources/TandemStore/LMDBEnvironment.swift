import CLMDB

/// An open LMDB environment; bound to the thread that made it, as write transactions are.
///
/// Never opened with `MDB_NOSYNC` or `MDB_WRITEMAP`: a commit that returned is on the disk.
final class LMDBEnvironment {
    let path: String
    let environment: OpaquePointer
    private var isClosed = false

    /// Opens or creates the environment in an existing directory.
    ///
    /// Without a size the map is as big as the file says. Without a lock nobody else may have the environment open.
    init(
        path: String, mapBytes: Int?, tables: Int, readOnly: Bool = false, isLocking: Bool = true
    ) throws(StoreError) {
        var handle: OpaquePointer?
        let status = mdb_env_create(&handle)
        guard status == 0, let handle else { throw StoreError("create", path, status) }
        self.path = path
        environment = handle
        do throws(StoreError) {
            if let mapBytes { try check(mdb_env_set_mapsize(handle, mapBytes), "size") }
            try check(mdb_env_set_maxdbs(handle, UInt32(tables)), "prepare")
            let flags =
                UInt32(MDB_NOTLS) | (readOnly ? UInt32(MDB_RDONLY) : 0)
                | (isLocking ? 0 : UInt32(MDB_NOLOCK))
            try check(mdb_env_open(handle, path, flags, 0o600), "open")
            try checkReaders()
        } catch {
            mdb_env_close(handle)
            isClosed = true
            throw error
        }
    }

    deinit { close() }

    /// Closes it; every transaction must have ended.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        mdb_env_close(environment)
    }

    func check(_ status: Int32, _ operation: String) throws(StoreError) {
        guard status == 0 else { throw StoreError(operation, path, status) }
    }

    /// Begins a transaction; a write transaction belongs to this thread.
    func begin(readOnly: Bool = false) throws(StoreError) -> LMDBTransaction {
        var handle: OpaquePointer?
        let flags = readOnly ? UInt32(MDB_RDONLY) : 0
        var status = mdb_txn_begin(environment, nil, flags, &handle)
        if status == MDB_MAP_RESIZED, readOnly {
            // Another process has grown the map.
            try check(mdb_env_set_mapsize(environment, 0), "follow the growth of")
            status = mdb_txn_begin(environment, nil, flags, &handle)
        }
        try check(status, "begin a transaction in")
        guard let handle else { throw StoreError("begin a transaction in", path, -1) }
        return LMDBTransaction(handle, self)
    }

    /// Enlarges the map; no transaction may be open.
    func grow(to mapBytes: Int) throws(StoreError) {
        try check(mdb_env_set_mapsize(environment, mapBytes), "grow")
    }

    /// The size of the map in bytes, and how much of it is in use.
    var usage: (mapBytes: Int, usedBytes: Int) {
        var info = MDB_envinfo()
        var stat = MDB_stat()
        mdb_env_info(environment, &info)
        mdb_env_stat(environment, &stat)
        return (info.me_mapsize, (info.me_last_pgno + 1) * Int(stat.ms_psize))
    }
}
