import CLMDB
import Glibc

/// An open LMDB environment.
///
/// The environment is bound to the thread that created it, except for read transactions, which any
/// thread may begin (``begin(readOnly:)``). It is never opened with `MDB_NOSYNC` or `MDB_WRITEMAP`:
/// a commit is durable when it returns.
final class LMDBEnvironment {
    let path: String
    let environment: OpaquePointer
    /// The maximum number of tables.
    let tableCount: Int
    private var isClosed = false
    /// The length of the part of the file whose blocks are allocated, in bytes.
    private var allocatedBytes = 0

    /// Opens or creates the environment in an existing directory.
    ///
    /// If `mapBytes` is nil, the map has the size recorded in the file. The size never changes,
    /// because `mdb_env_set_mapsize` moves pages that open readers use. If `isLocking` is false, no
    /// other process may have the environment open.
    init(
        path: String, mapBytes: Int?, tables: Int, readers: Int? = nil, readOnly: Bool = false,
        isLocking: Bool = true
    ) throws(StoreError) {
        var handle: OpaquePointer?
        let status = mdb_env_create(&handle)
        guard status == 0, let handle else { throw StoreError("create", path, status) }
        self.path = path
        environment = handle
        tableCount = tables
        do throws(StoreError) {
            if let mapBytes { try check(mdb_env_set_mapsize(handle, mapBytes), "size") }
            try check(mdb_env_set_maxdbs(handle, UInt32(tables)), "prepare")
            if let readers {
                try check(mdb_env_set_maxreaders(handle, UInt32(readers)), "prepare")
            }
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

    /// Closes the environment; all transactions must have ended.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        mdb_env_close(environment)
    }

    func check(_ status: Int32, _ operation: String) throws(StoreError) {
        guard status == 0 else { throw StoreError(operation, path, status) }
    }

    /// Begins a transaction.
    ///
    /// A write transaction is bound to the calling thread; a read transaction may be used by one
    /// thread at a time.
    func begin(readOnly: Bool = false) throws(StoreError) -> LMDBTransaction {
        assert(!isClosed, "No transaction begins after the environment is closed.")
        var handle: OpaquePointer?
        let flags = readOnly ? UInt32(MDB_RDONLY) : 0
        try check(mdb_txn_begin(environment, nil, flags, &handle), "begin a transaction in")
        guard let handle else { throw StoreError("begin a transaction in", path, -1) }
        return LMDBTransaction(handle, self)
    }

    /// Allocates disk blocks for `bytes` after the file's last used page.
    ///
    /// LMDB reports a write that is cut short by a full disk as an I/O error. The space must
    /// therefore be reserved before LMDB writes.
    func reserve(bytes: Int) throws(StoreError) {
        let end = usage.usedBytes + bytes
        // The file-size limit also applies to writes within an existing longer file.
        guard end <= LMDBEnvironment.fileSizeLimit else {
            throw StoreError("make room for", path, EFBIG)
        }
        guard end > allocatedBytes else { return }
        var descriptor: Int32 = -1
        try check(mdb_env_get_fd(environment, &descriptor), "find the file of")
        let start = off_t(allocatedBytes)
        // Try with a margin first, so that a growing store rarely allocates, and then without it.
        for wanted in [end + max(StoreLimits.growthBytes, end / 16), end] {
            let length = off_t(wanted) - start
            assert(length > 0, "Only blocks that are not allocated yet are allocated.")
            // `posix_fallocate` returns the error number, and doesn't set errno.
            let status = posix_fallocate(descriptor, start, length)
            if status == 0 || status == EINVAL || status == EOPNOTSUPP {
                return allocatedBytes = wanted
            }
            if wanted == end { throw StoreError("make room for", path, status) }
        }
    }

    /// Truncates the file after its last used page; no transaction may be open.
    func releaseReservedSpace() {
        allocatedBytes = 0
        var descriptor: Int32 = -1
        var status = stat()
        let end = off_t(usage.usedBytes)
        guard mdb_env_get_fd(environment, &descriptor) == 0, fstat(descriptor, &status) == 0,
            status.st_size > end
        else { return }
        // A failure wastes disk space, but is harmless.
        _ = ftruncate(descriptor, end)
    }

    /// Returns whether a commit of `bytes` bytes that failed with `EIO` found the file system full.
    func isWithoutRoom(for bytes: Int) -> Bool {
        allocatedBytes = 0
        do throws(StoreError) {
            try reserve(bytes: bytes)
            return false
        } catch {
            return error.code == .noSpace
        }
    }

    private static var fileSizeLimit: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// Returns whether the process has enough address space for a map of `bytes` bytes.
    static func hasAddressSpace(for bytes: Int) -> Bool {
        let address = mmap(
            nil, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let address, address != MAP_FAILED else { return false }
        munmap(address, bytes)
        return true
    }

    /// The sizes of the map and of its used part, in bytes.
    var usage: (mapBytes: Int, usedBytes: Int) {
        assert(!isClosed, "The usage is read before the environment is closed.")
        var info = MDB_envinfo()
        var stat = MDB_stat()
        mdb_env_info(environment, &info)
        mdb_env_stat(environment, &stat)
        return (info.me_mapsize, (info.me_last_pgno + 1) * Int(stat.ms_psize))
    }
}
