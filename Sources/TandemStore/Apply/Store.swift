public import TandemModel

/// The object graph in LMDB: rows, links, indexes, unique keys, and the position they stand at.
///
/// A store is bound to one thread, the committer's. Its LMDB write transaction stays open: ``apply(_:)`` writes into it,
/// reads see it, ``checkpoint()`` commits it. What is not yet committed is in the journal: after a crash the store is at
/// its last checkpoint and the journal's tail is applied again. Other threads read ``snapshot()``.
///
/// State:
/// - ``StoreView/appliedPosition``: the last transaction that the open write transaction holds; that one is begun by the first
///   access after a checkpoint.
/// - ``checkpointPosition``: the last transaction that is on the disk.
public final class Store: StoreView {
    /// The last transaction that is durable in LMDB.
    public private(set) var checkpointPosition: UInt64 = 0
    /// The hashes of models that the store has had or served, the latest last; who declares one of them is an older app.
    public internal(set) var knownModels: [StableHash] = []
    /// All object numbers from here on are unused and not leased.
    public internal(set) var nextNumber: ObjectNumber = 1
    /// Save ids of transactions below this position are forgotten.
    public internal(set) var saveFloor: UInt64 = 0
    /// The log that this store belongs to.
    public private(set) var identity: StoreIdentity
    /// How many changes were applied since the last checkpoint.
    public internal(set) var uncommittedChanges = 0
    /// The bytes of the rows that were applied since the last checkpoint.
    var uncommittedBytes = 0
    /// The writes of save ids since the last checkpoint.
    var saveRuns = SaveRuns()
    /// How many changes were applied since the store was opened.
    public internal(set) var appliedChanges: UInt64 = 0

    /// Rows of the open transaction or of the last checkpoint.
    var writtenRows = RowCache()
    /// Of ordered relationships, as the open transaction has them.
    var lastRanks = LastRanks()

    /// The most bytes that rows, indexes and everything else may take, free pages not counted.
    public let quotaBytes: Int
    /// The bytes in use at the last checkpoint; above three quarters of the quota, free pages are subtracted.
    private var committedBytes = 0
    /// The bytes of free pages at the last measurement.
    private var freeBytes = 0

    let environment: LMDBEnvironment
    /// Whether it was opened with ``openForReading(path:isPrivate:)``.
    public let isReadOnly: Bool
    /// Called around each commit of ``checkpoint()`` with the position it makes durable; for tests.
    var observeCommit: ((CommitMoment, UInt64) throws(StoreError) -> Void)?

    /// A moment of ``checkpoint()``.
    enum CommitMoment {
        case before
        case after
    }

    /// The bytes of a page of the file.
    public static let pageBytes = StoreLimits.pageBytes

    /// The version of the format; a store of a newer one is refused.
    public static let format: UInt32 = 1

    /// Opens the store in an existing directory, or creates one that belongs to `newIdentity`.
    ///
    /// Index entries that a program with other tables of Unicode made are made anew.
    /// Throws ``StoreError``: `notOurs` for a newer format, `failed` for whatever LMDB says.
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

    /// The size of the memory map for as long as the store is open: far above the quota, or what a limit on address space allows.
    ///
    /// LMDB can't change the size while anybody reads. An unused part of a map costs nothing.
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

    /// The identity of a store of our format.
    private static func check(
        _ transaction: LMDBTransaction, _ tables: StoreTables, _ path: String
    ) throws(StoreError) -> StoreIdentity {
        guard let bytes = try transaction.get(tables.meta, MetaKey.format.key), bytes.count == 4
        else {
            throw StoreError(.notOurs, "the file at \(path) is no store of Tandem")
        }
        let format = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        guard format == Store.format else {
            throw StoreError(
                .notOurs,
                "the store at \(path) has format \(format); this program knows "
                    + "\(Store.format): use the newer program")
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

    /// Ends the open transaction without keeping it and closes the environment.
    public func close() {
        endTransaction()
        environment.close()
    }

    /// Ends the open transaction, if there is one, without keeping what it did.
    func endTransaction() { takeTransaction()?.abort() }

    // MARK: The open transaction

    override func begin() throws(StoreError) -> LMDBTransaction {
        try environment.begin(readOnly: isReadOnly)
    }

    override func cachedRow(of object: ObjectReference) -> Stored? { writtenRows[object] }

    /// Commits what was applied; durable on return.
    ///
    /// Throws `noSpace` or `overQuota` with the store back at the last checkpoint, which is as it was: the journal
    /// has to be applied again. Call ``reserveRoom()`` before. Any other error is final. Cost: the dirty pages and two flushes.
    public func checkpoint() throws(StoreError) {
        guard let open = openTransaction else { return }
        let room = neededRoom
        do throws(StoreError) {
            try writeState(open)
            _ = takeTransaction()
            try observeCommit?(.before, appliedPosition)
            try open.commit()
        } catch {
            open.abort()
            _ = takeTransaction()
            let error = meaning(of: error, room)
            guard error.code != .failed else { throw error }
            try loadState()
            throw error
        }
        try observeCommit?(.after, appliedPosition)
        checkpointPosition = appliedPosition
        uncommittedChanges = 0
        uncommittedBytes = 0
        saveRuns = SaveRuns()
        try measure()
    }

    /// Measures what the last checkpoint uses.
    private func measure() throws(StoreError) {
        committedBytes = environment.usage.usedBytes
        guard committedBytes > quotaBytes / 4 * 3 else { return }
        do throws(StoreError) {
            let reading = try environment.begin(readOnly: true)
            defer { reading.abort() }
            freeBytes = try reading.freePages() * StoreLimits.pageBytes
        } catch {
            // Without a free slot for a reader, the last number is used.
            guard error.code == .noReader else { throw error }
        }
        committedBytes -= freeBytes
    }

    /// Throws `overQuota` if the store has no room for `bytes` more, by an estimate; call it before anything is applied.
    ///
    /// Cost: less than a microsecond.
    public func checkQuota(for bytes: Int) throws(StoreError) {
        let used = committedBytes + dirtyPages * StoreLimits.pageBytes * 9 / 8 + 2 * bytes
        guard used > quotaBytes else { return }
        throw StoreError(
            .overQuota,
            "the store at \(path) uses about \(used) bytes and may use \(quotaBytes); raise mapBytes "
                + "(--map-limit-mebibytes) or the limit on address space (ulimit -v), and restart the daemon"
        )
    }

    /// Makes sure that there is room for what a checkpoint writes now; throws `noSpace` with nothing changed.
    ///
    /// What it reserves is an estimate, so that a checkpoint can find the disk full all the same; that is rare, and costs more.
    public func reserveRoom() throws(StoreError) {
        guard openTransaction != nil else { return }
        try environment.reserve(bytes: neededRoom)
    }

    /// What an error says, or that there is no room, where a full disk cut a write short, which LMDB calls an I/O error.
    ///
    /// LMDB writes before the commit, too, once more pages are dirty than it keeps in memory.
    public func meaning(of error: StoreError) -> StoreError { meaning(of: error, neededRoom) }

    private func meaning(of error: StoreError, _ room: Int) -> StoreError {
        guard error.isInputOutput, environment.isWithoutRoom(for: room) else { return error }
        return StoreError(.noSpace, error.message)
    }

    /// Makes sure that there is room to write all rows and their keys anew, as a change of the model does.
    ///
    /// Throws `noSpace` or `overQuota` with nothing changed; an estimate as with ``reserveRoom()``. Call ``giveBackRoom()`` when it comes to nothing.
    public func reserveRoomToRewrite() throws(StoreError) {
        guard model != nil else { return }
        let open = try current
        var pages = 0
        for table in [tables.rows, tables.indexes, tables.unique] { pages += try open.pages(table) }
        let bytes = pages * StoreLimits.pageBytes * 9 / 8
        try checkQuota(for: bytes / 2)
        try environment.reserve(bytes: StoreLimits.checkpointBytes + bytes)
    }

    /// Lets go of the room behind what the last checkpoint uses; without effect when anything was applied since.
    public func giveBackRoom() {
        guard appliedPosition == checkpointPosition, uncommittedChanges == 0 else { return }
        endTransaction()
        environment.giveBack()
    }

    private var neededRoom: Int {
        StoreLimits.checkpointBytes + dirtyPages * StoreLimits.pageBytes * 9 / 8
            + 2 * uncommittedBytes
    }

    /// About how many pages a checkpoint would write now, as a rule fewer.
    ///
    /// A write dirties one page, and no table has more dirty pages than it has pages. Cost: less than a microsecond.
    public var dirtyPages: Int {
        guard let transaction = openTransaction else { return 0 }
        func pages(_ table: LMDBTable, sharing writes: Int = 1) -> Int {
            let most = transaction.writes(table) / writes + 1
            return min(most, (try? transaction.pages(table)) ?? most)
        }
        let scattered = [tables.rows, tables.links, tables.indexes, tables.unique]
        // Their keys ascend; of the saves' those of one saver, if that keeps to it.
        let ascending = [tables.numbers, tables.saves, tables.saveOrder, tables.unchanged]
        return uncommittedBytes / StoreLimits.pageBytes
            + scattered.reduce(0) { $0 + pages($1) }
            + ascending.reduce(0) { $0 + pages($1, sharing: StoreLimits.writesPerPage) }
            + min(saveRuns.scattered, (try? transaction.pages(tables.saves)) ?? .max)
    }

    /// Whether a replay that holds up nobody's save should make a checkpoint before it goes on.
    public var isReplayFull: Bool {
        uncommittedChanges >= StoreLimits.replayChanges
            || (uncommittedChanges >= 16_384 && dirtyPages >= StoreLimits.replayPages)
    }

    /// Goes back to the last checkpoint; the journal has to be applied again from ``checkpointPosition``.
    public func revert() throws(StoreError) {
        endTransaction()
        try loadState()
    }

    /// The bytes of the file up to its last page in use; with free pages.
    public var usedBytes: Int { environment.usage.usedBytes }

    /// Takes the next `count` numbers out of circulation, durable on return.
    ///
    /// The high-water mark has to be on the disk before a number below it is handed out, so this is a checkpoint.
    public func leaseNumbers(_ count: UInt32) throws(StoreError) -> ObjectNumber {
        let first = nextNumber
        let (next, overflow) = first.addingReportingOverflow(UInt64(count))
        guard !overflow else { throw damaged(.meta, 0, "no numbers left for new objects") }
        nextNumber = next
        _ = try current
        try checkpoint()
        return first
    }

    /// Makes the store belong to another epoch of its log, durable on return.
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

    /// Begins a transaction that sees the last checkpoint, also if no slot for a reader is free.
    ///
    /// Needs a store without an open transaction.
    private func beginReading() throws(StoreError) -> LMDBTransaction {
        do throws(StoreError) {
            return try environment.begin(readOnly: true)
        } catch {
            guard error.code == .noReader else { throw error }
            return try environment.begin(readOnly: false)
        }
    }

    func loadState() throws(StoreError) {
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
        saveRuns = SaveRuns()
        guard let bytes = try transaction.get(tables.meta, MetaKey.model.key) else {
            return model = nil
        }
        var reader = ByteReader(Array(bytes))
        do {
            model = try CompiledModel(from: &reader)
        } catch {
            throw StoreError(.damaged, "the model in the store at \(path) can't be read: \(error)")
        }
    }
}
