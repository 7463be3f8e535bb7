public import TandemModel

/// The object graph in LMDB: rows, links, indexes, unique keys, and the position they reflect.
///
/// A store is bound to one thread, the committer's. Its LMDB write transaction stays open:
/// ``apply(_:)`` writes to it, reads see it, and ``checkpoint()`` commits it. Uncommitted
/// transactions are in the journal: after a crash the store is at its last checkpoint, and the
/// journal's tail is applied again. Other threads read a ``snapshot()``.
///
/// State:
/// - ``StoreView/appliedPosition``: the last transaction applied to the open write transaction,
///   which the first access after a checkpoint begins.
/// - ``checkpointPosition``: the last durable transaction.
public final class Store: StoreView {
    /// The last transaction that is durable in LMDB.
    public private(set) var checkpointPosition: UInt64 = 0
    /// The hashes of models that the store has had or served, the latest one last.
    ///
    /// A client that declares one of them is an older app.
    public internal(set) var knownModels: [StableHash] = []
    /// The first object number that is neither used nor leased; no number above it is either.
    public internal(set) var nextNumber: ObjectNumber = 1
    /// The position below which save ids are forgotten.
    public internal(set) var saveFloor: UInt64 = 0
    /// The log and epoch to which this store belongs.
    public private(set) var identity: StoreIdentity
    /// The number of changes applied since the last checkpoint.
    public internal(set) var uncommittedChanges = 0
    /// The size of the rows and contents written since the last checkpoint, in bytes.
    var uncommittedBytes = 0
    /// A classifier of the save ids written since the last checkpoint.
    var idDetector = SequentialIDDetector()
    /// The number of changes applied since the store was opened.
    public internal(set) var appliedChanges: UInt64 = 0

    /// Recently written rows, as of the open transaction or the last checkpoint.
    var writtenRows = RowCache()
    /// Last ranks of ordered relationships, as of the open transaction.
    var lastRanks = LastRankCache()

    /// The maximum size of the store in bytes, without free pages.
    public let quotaBytes: Int
    /// The bytes in use at the last checkpoint.
    ///
    /// Free pages are subtracted only if more than three quarters of the quota are in use.
    private var committedBytes = 0
    /// The size of the free pages at the last measurement, in bytes.
    private var freeBytes = 0

    let environment: LMDBEnvironment
    /// Whether the store was opened with ``openForReading(path:isPrivate:)``.
    public let isReadOnly: Bool
    /// A closure called before and after each commit in ``checkpoint()`` with the new position; for
    /// tests.
    var observeCommit: ((CommitMoment, UInt64) throws(StoreError) -> Void)?

    /// A point in the course of ``checkpoint()``.
    enum CommitMoment {
        case before
        case after
    }

    /// The size of a page of the file, in bytes.
    public static let pageBytes = StoreLimits.pageBytes

    /// The version of the file format; a store with a newer one is rejected.
    public static let format: UInt32 = 1

    /// Opens the store in an existing directory, or creates one that belongs to `newIdentity`.
    ///
    /// Index entries that were made with other Unicode tables are rebuilt. Throws ``StoreError``:
    /// `notOurs` for a newer format, or `failed` for other LMDB errors.
    public static func open(
        path: String, newIdentity: @autoclosure () -> StoreIdentity,
        options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> Store {
        try create(path, newIdentity())
        let environment = try LMDBEnvironment(
            path: path, mapBytes: reservedMapBytes(options), tables: StoreTables.count,
            readers: options.readers)
        let transaction = try environment.begin()
        let tables = try StoreTables(transaction, create: true)
        let identity = try check(transaction, tables, path)
        try transaction.commit()
        let store = Store(path, environment, tables, identity, options)
        try store.loadState()
        try store.renewIndexes()
        return store
    }

    /// Returns the fixed size of the memory map, which is far above the quota unless address space
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

    /// Checks the format, and returns the identity.
    private static func check(
        _ transaction: LMDBTransaction, _ tables: StoreTables, _ path: String
    ) throws(StoreError) -> StoreIdentity {
        guard let bytes = try transaction.get(tables.meta, MetaKey.format.key), bytes.count == 4
        else {
            throw StoreError(.notOurs, "the file at \(path) is not a store of Tandem")
        }
        let format = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        guard format == Store.format else {
            throw StoreError(
                .notOurs,
                "the store at \(path) has format \(format), but this program supports format "
                    + "\(Store.format); use the newer program")
        }
        return try StoreIdentity(try transaction.get(tables.meta, MetaKey.identity.key), path)
    }

    init(
        _ path: String, _ environment: LMDBEnvironment, _ tables: StoreTables,
        _ identity: StoreIdentity, _ options: StoreOptions, isReadOnly: Bool = false
    ) {
        self.environment = environment
        self.identity = identity
        self.isReadOnly = isReadOnly
        let mapBytes = environment.usage.mapBytes
        let reserve = min(mapBytes / 8, StoreLimits.mapReserveBytes)
        quotaBytes = min(options.quotaBytes, mapBytes - reserve)
        super.init(path, tables, options)
    }

    /// Aborts the open transaction and closes the environment.
    public func close() {
        endTransaction()
        environment.close()
    }

    /// Aborts the open transaction, if there is one.
    func endTransaction() { detachTransaction()?.abort() }

    // MARK: The open transaction

    /// Asserts the relations between the positions and the open transaction.
    func checkInvariants() {
        assert(
            checkpointPosition <= appliedPosition,
            "A transaction is durable only after it was applied.")
        assert(
            openTransaction != nil || appliedPosition == checkpointPosition,
            "Transactions that are not durable are in the open transaction.")
        assert(
            openTransaction != nil || uncommittedChanges == 0 && uncommittedBytes == 0,
            "Only the open transaction has uncommitted changes.")
    }

    override func begin() throws(StoreError) -> LMDBTransaction {
        assert(openTransaction == nil, "A store has at most one open transaction.")
        return try environment.begin(readOnly: isReadOnly)
    }

    override func cachedRow(of object: ObjectReference) -> Stored? { writtenRows[object] }

    /// Commits the applied transactions; durable on return.
    ///
    /// Throws `noSpace` or `overQuota` with the store reverted to the last checkpoint; the journal
    /// must then be applied again. Call ``reserveRoom()`` first. All other errors are final. Cost:
    /// writing the dirty pages, and two flushes.
    public func checkpoint() throws(StoreError) {
        guard let open = openTransaction else { return }
        let room = neededRoom
        do throws(StoreError) {
            try writeState(open)
            _ = detachTransaction()
            try observeCommit?(.before, appliedPosition)
            try open.commit()
        } catch {
            open.abort()
            _ = detachTransaction()
            assert(openTransaction == nil, "A failed checkpoint has ended its transaction.")
            let error = meaning(of: error, room)
            guard error.code != .failed else { throw error }
            try loadState()
            throw error
        }
        try observeCommit?(.after, appliedPosition)
        checkpointPosition = appliedPosition
        uncommittedChanges = 0
        uncommittedBytes = 0
        idDetector = SequentialIDDetector()
        checkInvariants()
        try measure()
    }

    /// Measures the space used as of the last checkpoint.
    private func measure() throws(StoreError) {
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

    /// Throws `overQuota` if, by estimate, the store has no room for `bytes` more bytes.
    ///
    /// Call this before anything is applied. Cost: less than a microsecond.
    public func checkQuota(for bytes: Int) throws(StoreError) {
        let used = committedBytes + dirtyPages * StoreLimits.pageBytes * 9 / 8 + 2 * bytes
        guard used > quotaBytes else { return }
        throw StoreError(
            .overQuota,
            "the store at \(path) uses about \(used) bytes of its quota of \(quotaBytes); raise mapBytes "
                + "(--map-limit-mebibytes) or the limit on address space (ulimit -v), and restart the daemon"
        )
    }

    /// Reserves disk space for a checkpoint; throws `noSpace` with nothing changed.
    ///
    /// The reserved size is an estimate, so a checkpoint may still find the disk full, which is
    /// rare but expensive.
    public func reserveRoom() throws(StoreError) {
        guard openTransaction != nil else { return }
        try environment.reserve(bytes: neededRoom)
    }

    /// Returns the error, or a `noSpace` error if it is an I/O error caused by a full disk.
    ///
    /// LMDB reports a write cut short by a full disk as an I/O error. It also writes before the
    /// commit if more pages are dirty than it keeps in memory.
    public func meaning(of error: StoreError) -> StoreError { meaning(of: error, neededRoom) }

    private func meaning(of error: StoreError, _ room: Int) -> StoreError {
        guard error.isInputOutput, environment.isWithoutRoom(for: room) else { return error }
        return StoreError(.noSpace, error.message)
    }

    /// Reserves disk space for rewriting all rows and their keys, as a model change does.
    ///
    /// Throws `noSpace` or `overQuota` with nothing changed. The size is an estimate, as with
    /// ``reserveRoom()``. Call ``giveBackRoom()`` if the rewrite doesn't take place.
    public func reserveRoomToRewrite() throws(StoreError) {
        guard model != nil else { return }
        let open = try current
        var pages = 0
        for table in [tables.rows, tables.indexes, tables.unique] { pages += try open.pages(table) }
        let bytes = pages * StoreLimits.pageBytes * 9 / 8
        try checkQuota(for: bytes / 2)
        try environment.reserve(bytes: StoreLimits.checkpointBytes + bytes)
    }

    /// Releases reserved space after the last page of the last checkpoint.
    ///
    /// Has no effect if transactions were applied since the checkpoint.
    public func giveBackRoom() {
        guard appliedPosition == checkpointPosition, uncommittedChanges == 0 else { return }
        endTransaction()
        environment.giveBack()
    }

    private var neededRoom: Int {
        StoreLimits.checkpointBytes + dirtyPages * StoreLimits.pageBytes * 9 / 8
            + 2 * uncommittedBytes
    }

    /// An estimate of the number of pages that a checkpoint would write now, usually too high.
    ///
    /// Each write dirties one page, and a table can't have more dirty pages than pages. Cost: less
    /// than a microsecond.
    public var dirtyPages: Int {
        guard let transaction = openTransaction else { return 0 }
        func pages(_ table: LMDBTable, sharing writes: Int = 1) -> Int {
            let most = transaction.writes(table) / writes + 1
            return min(most, (try? transaction.pages(table)) ?? most)
        }
        let scattered = [tables.rows, tables.links, tables.indexes, tables.unique]
        // The keys of these tables ascend; in `saves` they do so only within the ids of one client.
        let ascending = [tables.numbers, tables.saves, tables.saveOrder, tables.unchanged]
        return uncommittedBytes / StoreLimits.pageBytes
            + scattered.reduce(0) { $0 + pages($1) }
            + ascending.reduce(0) { $0 + pages($1, sharing: StoreLimits.writesPerPage) }
            + min(idDetector.scattered, (try? transaction.pages(tables.saves)) ?? .max)
    }

    /// Whether a replay should make a checkpoint before it continues, provided that no save is
    /// waiting.
    public var isReplayFull: Bool {
        uncommittedChanges >= StoreLimits.replayChanges
            || (uncommittedChanges >= 16_384 && dirtyPages >= StoreLimits.replayPages)
    }

    /// Reverts to the last checkpoint; the journal must be applied again from
    /// ``checkpointPosition``.
    public func revert() throws(StoreError) {
        endTransaction()
        try loadState()
    }

    /// The size of the file up to its last used page, in bytes, free pages included.
    public var usedBytes: Int { environment.usage.usedBytes }

    /// Leases the next `count` object numbers, and returns the first one; durable on return.
    ///
    /// Makes a checkpoint, because the high-water mark must be durable before a number below it is
    /// handed out. Throws ``StoreError``, as ``checkpoint()`` does.
    public func leaseNumbers(_ count: UInt32) throws(StoreError) -> ObjectNumber {
        let first = nextNumber
        let (next, overflow) = first.addingReportingOverflow(UInt64(count))
        guard !overflow else { throw damaged(.meta, 0, "no numbers left for new objects") }
        nextNumber = next
        _ = try current
        try checkpoint()
        assert(
            nextNumber >= next && openTransaction == nil,
            "The mark above the leased numbers is durable.")
        return first
    }

    /// Moves the store to another epoch of its log; durable on return.
    public func setEpoch(_ epoch: UInt32) throws(StoreError) {
        identity.epoch = epoch
        try current.put(tables.meta, MetaKey.identity.key, identity.bytes)
        try checkpoint()
    }

    private func writeState(_ transaction: LMDBTransaction) throws(StoreError) {
        for (key, value) in [
            (MetaKey.applied, appliedPosition), (.modelPosition, modelPosition),
            (.leases, nextNumber), (.saveFloor, saveFloor),
        ] {
            try transaction.put(tables.meta, key.key, StoreKey.number(value))
        }
    }

    /// Begins a transaction that sees the last checkpoint, even if no reader slot is free.
    ///
    /// The store must not have an open transaction.
    private func beginReading() throws(StoreError) -> LMDBTransaction {
        do throws(StoreError) {
            return try environment.begin(readOnly: true)
        } catch {
            guard error.code == .noReader else { throw error }
            return try environment.begin(readOnly: false)
        }
    }

    func loadState() throws(StoreError) {
        assert(openTransaction == nil, "The state is that of the last checkpoint.")
        let transaction = try beginReading()
        defer { transaction.abort() }
        func number(_ key: MetaKey) throws(StoreError) -> UInt64? {
            guard let bytes = try transaction.get(tables.meta, key.key) else { return nil }
            guard bytes.count == 8 else {
                throw damaged(.meta, 0, "a \(key.rawValue) of \(bytes.count) bytes")
            }
            return bytes.bigEndian(0, as: UInt64.self)
        }
        appliedPosition = try number(.applied) ?? 0
        checkpointPosition = appliedPosition
        modelPosition = try number(.modelPosition) ?? 0
        nextNumber = try number(.leases) ?? 1
        saveFloor = try number(.saveFloor) ?? 0
        try measure()
        knownModels = Store.knownModels(
            try transaction.get(tables.meta, MetaKey.knownModels.key))
        uncommittedChanges = 0
        uncommittedBytes = 0
        writtenRows.removeAll()
        lastRanks.removeAll()
        idDetector = SequentialIDDetector()
        guard let bytes = try transaction.get(tables.meta, MetaKey.model.key) else {
            return model = nil
        }
        var reader = ByteReader(Array(bytes))
        do {
            model = try CompiledModel(from: &reader)
        } catch {
            throw StoreError(.damaged, "the model in the store at \(path) cannot be read: \(error)")
        }
    }
}
