/// The disk space of a store: its quota, the pages in use, and the room for the next checkpoint.
final class StoreSpace {
    /// The maximum size of the store in bytes, without free pages.
    let quotaBytes: Int
    private let path: String
    private let environment: LMDBEnvironment
    private let tables: StoreTables
    /// The bytes in use at the last checkpoint.
    ///
    /// Free pages are subtracted only if more than three quarters of the quota are in use.
    private var committedBytes = 0
    /// The size of the free pages at the last measurement, in bytes.
    private var freeBytes = 0

    init(
        _ path: String, _ environment: LMDBEnvironment, _ tables: StoreTables, quotaBytes: Int
    ) {
        self.path = path
        self.environment = environment
        self.tables = tables
        let mapBytes = environment.usage.mapBytes
        let reserve = min(mapBytes / 8, StoreLimits.mapReserveBytes)
        self.quotaBytes = min(quotaBytes, mapBytes - reserve)
    }

    /// Returns the fixed size of the memory map in bytes, far above the quota unless address space
    /// is limited.
    ///
    /// LMDB can't resize the map while there are readers. The unused part of a map costs nothing.
    static func reservedMapBytes(_ options: StoreOptions) -> Int {
        var bytes = max(
            StoreLimits.mapBytes, min(options.quotaBytes, StoreLimits.mapBytes * 64) * 2)
        while bytes > StoreLimits.smallestMapBytes,
            !LMDBEnvironment.hasAddressSpace(for: bytes)
        {
            bytes /= 2
        }
        return bytes
    }

    /// Measures the space used as of the last checkpoint.
    func measure() throws(StoreError) {
        committedBytes = environment.usage.usedBytes
        guard committedBytes > quotaBytes / 4 * 3 else { return }
        do throws(StoreError) {
            let reading = try environment.begin(readOnly: true)
            defer { reading.abort() }
            freeBytes = try reading.freePages() * StoreLimits.pageBytes
        } catch {
            // If no reader slot is free, the previous measurement remains in use.
            guard error.code == .noReader else { throw error }
        }
        committedBytes -= freeBytes
    }

    /// Returns the used part of the quota with the writes since the last checkpoint, in bytes.
    func usedBytes(_ pending: PendingWrites) -> Int {
        committedBytes + pending.pages * StoreLimits.pageBytes * 9 / 8
    }

    /// Throws `overQuota` if, by estimate, the store has no room for `bytes` more bytes.
    func checkQuota(for bytes: Int, _ pending: PendingWrites) throws(StoreError) {
        assert(bytes >= 0, "A size is not negative.")
        let used = usedBytes(pending) + 2 * bytes
        guard used > quotaBytes else { return }
        throw StoreError(
            .overQuota,
            "the store at \(path) uses about \(used) bytes of its quota of \(quotaBytes); raise mapBytes "
                + "(--map-limit-mebibytes) or the limit on address space (ulimit -v) and restart the "
                + "daemon, or delete objects while deletions still fit"
        )
    }

    /// Reserves disk space for a checkpoint of writes; throws `noSpace` with nothing changed.
    func reserve(for pending: PendingWrites) throws(StoreError) {
        try environment.reserve(bytes: pending.neededRoom)
    }

    /// Reserves disk space for rewriting all rows and their keys, as a model change does.
    ///
    /// Throws `noSpace` or `overQuota` with nothing changed.
    func reserveToRewrite(
        _ open: LMDBTransaction, _ pending: PendingWrites
    ) throws(StoreError) {
        var pages = 0
        for table in [tables.rows, tables.indexes, tables.unique] { pages += try open.pages(table) }
        let bytes = pages * StoreLimits.pageBytes * 9 / 8
        try checkQuota(for: bytes / 2, pending)
        try environment.reserve(bytes: StoreLimits.checkpointBytes + bytes)
    }

    /// Releases the disk space reserved beyond the last page of the last checkpoint.
    func releaseReservedSpace() { environment.releaseReservedSpace() }

    /// Returns the error, or a `noSpace` error if it is an I/O error caused by a full disk.
    ///
    /// LMDB reports a write that is cut short by a full disk as an I/O error. LMDB also writes
    /// before the commit if more pages are dirty than it keeps in memory.
    func meaning(of error: StoreError, _ pending: PendingWrites) -> StoreError {
        guard error.isInputOutput, environment.isWithoutRoom(for: pending.neededRoom) else {
            return error
        }
        return StoreError(.noSpace, error.message)
    }

    /// Returns an estimate of the number of pages that a checkpoint would write now, usually too
    /// high.
    ///
    /// Each write dirties one page, and a table can't have more dirty pages than pages.
    func dirtyPages(
        _ transaction: LMDBTransaction, bytes: Int, scatteredSaves: Int
    ) -> Int {
        assert(bytes >= 0 && scatteredSaves >= 0, "Counts of uncommitted writes are not negative.")
        func pages(_ table: LMDBTable, sharing writes: Int = 1) -> Int {
            let most = transaction.writes(table) / writes + 1
            return min(most, (try? transaction.pages(table)) ?? most)
        }
        let scattered = [tables.rows, tables.links, tables.indexes, tables.unique]
        // The keys of these tables are written in ascending order, in `saves` within each client.
        let ascending = [tables.numbers, tables.saves, tables.saveOrder, tables.unchanged]
        return bytes / StoreLimits.pageBytes
            + scattered.reduce(0) { $0 + pages($1) }
            + ascending.reduce(0) { $0 + pages($1, sharing: StoreLimits.writesPerPage) }
            + min(scatteredSaves, (try? transaction.pages(tables.saves)) ?? .max)
    }
}

/// An estimate of the writes that the next checkpoint makes durable.
struct PendingWrites {
    /// The number of dirty pages.
    let pages: Int
    /// The size of the rows and blobs written since the last checkpoint, in bytes.
    let bytes: Int

    /// The disk space to reserve for the checkpoint, in bytes.
    var neededRoom: Int {
        StoreLimits.checkpointBytes + pages * StoreLimits.pageBytes * 9 / 8 + 2 * bytes
    }
}

/// The total number and size of applied changes.
struct AppliedTotals {
    /// The number of changes; a blob counts as several.
    var changes = 0
    /// The size of the rows and blobs, in bytes.
    var bytes = 0

    /// Whether nothing was applied.
    var isEmpty: Bool { changes == 0 && bytes == 0 }
}
