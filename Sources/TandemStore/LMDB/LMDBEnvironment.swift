import CLMDB
import Glibc

/// An open LMDB environment: bound to the thread that made it, but for read transactions, which any thread may begin (``begin(readOnly:)``).
///
/// Never opened with `MDB_NOSYNC` or `MDB_WRITEMAP`: a commit that returned is on the disk.
final class LMDBEnvironment {
    let path: String
    let environment: OpaquePointer
    /// How many tables there may be.
    let tableCount: Int
    private var isClosed = false
    /// The file has blocks of its own up to here.
    private var allocatedBytes = 0

    /// Opens or creates the environment in an existing directory.
    ///
    /// Without a size the map is as big as the file says. It keeps its size: `mdb_env_set_mapsize` with a reader open moves the pages
    /// that the reader looks at. Without a lock nobody else may have the environment open.
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

    /// Closes it; every transaction must have ended.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        mdb_env_close(environment)
    }

    func check(_ status: Int32, _ operation: String) throws(StoreError) {
        guard status == 0 else { throw StoreError(operation, path, status) }
    }

    /// Begins a transaction: one that writes belongs to this thread, one that reads to one thread at a time.
    func begin(readOnly: Bool = false) throws(StoreError) -> LMDBTransaction {
        var handle: OpaquePointer?
        let flags = readOnly ? UInt32(MDB_RDONLY) : 0
        try check(mdb_txn_begin(environment, nil, flags, &handle), "begin a transaction in")
        guard let handle else { throw StoreError("begin a transaction in", path, -1) }
        return LMDBTransaction(handle, self)
    }

    /// Makes sure that the file has blocks for `bytes` behind its last page in use.
    ///
    /// LMDB calls a write that a full disk cut short an I/O error, so that room has to be there before it writes.
    func reserve(bytes: Int) throws(StoreError) {
        let end = usage.usedBytes + bytes
        // The limit also holds for what lies beyond it already.
        guard end <= LMDBEnvironment.fileSizeLimit else {
            throw StoreError("make room for", path, EFBIG)
        }
        guard end > allocatedBytes else { return }
        var descriptor: Int32 = -1
        try check(mdb_env_get_fd(environment, &descriptor), "find the file of")
        let start = off_t(allocatedBytes)
        // Some more, so that a growing store asks seldom; what is needed where that is too much.
        for wanted in [end + max(StoreLimits.growthBytes, end / 16), end] {
            let length = off_t(wanted) - start
            // Returns the error number and leaves errno alone.
            let status = posix_fallocate(descriptor, start, length)
            if status == 0 || status == EINVAL || status == EOPNOTSUPP {
                return allocatedBytes = wanted
            }
            if wanted == end { throw StoreError("make room for", path, status) }
        }
    }

    /// Lets go of the file's blocks behind its last page in use; no transaction may be open.
    func giveBack() {
        allocatedBytes = 0
        var descriptor: Int32 = -1
        var status = stat()
        let end = off_t(usage.usedBytes)
        guard mdb_env_get_fd(environment, &descriptor) == 0, fstat(descriptor, &status) == 0,
            status.st_size > end
        else { return }
        // Where it fails nothing is lost but room.
        _ = ftruncate(descriptor, end)
    }

    /// Whether a file system without room is why a commit failed with `EIO`.
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

    /// Whether the process has address space for a map of this size.
    static func hasAddressSpace(for bytes: Int) -> Bool {
        let address = mmap(
            nil, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let address, address != MAP_FAILED else { return false }
        munmap(address, bytes)
        return true
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
