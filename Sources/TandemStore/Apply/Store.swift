package import TandemModel

/// The object graph in LMDB: rows, links, indexes, unique keys, and the position they reflect.
///
/// A store is bound to one thread, the committer's. Its LMDB write transaction stays open:
/// ``apply(_:)`` writes to it, reads see it, and ``checkpoint()`` commits it. Uncommitted
/// transactions are in the journal: after a crash, the store is at its last checkpoint, and the
/// journal's tail is applied again. Other threads read a ``snapshot()``.
///
/// State:
/// - ``StoreView/appliedPosition``: the last transaction applied to the open write transaction,
///   which the first access after a checkpoint begins.
/// - ``checkpointPosition``: the last durable transaction.
///
/// The store is a façade: each table is written by its own type, which owns the state.
package final class Store: StoreView {
    /// The last transaction that is durable in LMDB.
    package private(set) var checkpointPosition: UInt64 = 0
    /// The log and epoch to which this store belongs.
    package private(set) var identity: StoreIdentity
    /// Whether the store was opened with ``openForReading(path:isPrivate:)``.
    package let isReadOnly: Bool

    private let environment: LMDBEnvironment
    private let space: StoreSpace
    private let writer: ChangeWriter
    private let saveIDs: SaveIDTable
    private let consumerTable: ConsumerTable
    private let models: ModelTable
    private let transactions: TransactionWriter
    private var commitObserver: ((CommitMoment, UInt64) throws(StoreError) -> Void)?

    /// A point in ``checkpoint()`` at which the commit observer is called.
    enum CommitMoment {
        case before
        case after
    }

    /// The size of a page of the file, in bytes.
    package static let pageBytes = StoreLimits.pageBytes

    /// The version of the file format; a store with a different version is rejected.
    package static let format: UInt32 = 1

    // MARK: Opening

    /// Opens the store in an existing directory, or creates one that belongs to `newIdentity`.
    ///
    /// Rebuilds index entries that were made with different Unicode tables. Throws ``StoreError``:
    /// `notOurs` for a different format, or `failed` for other LMDB errors.
    package static func open(
        path: String, newIdentity: @autoclosure () -> StoreIdentity,
        options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> Store {
        try StoreFile.create(path, newIdentity())
        let environment = try LMDBEnvironment(
            path: path, mapBytes: StoreSpace.reservedMapBytes(options), tables: StoreTables.count,
            readers: options.readers)
        let transaction = try environment.begin()
        let tables = try StoreTables(transaction, create: true)
        let identity = try StoreFile.identity(
            transaction, tables, path, remedy: "use a version of Tandem with that format")
        try transaction.commit()
        let store = Store(path, environment, tables, identity, options)
        try store.loadState()
        try store.renewIndexes()
        return store
    }

    /// Opens the store in a directory for reading at its last checkpoint; writes throw.
    ///
    /// Another process may have the store open, but this process must not. If `isPrivate` is true,
    /// no other process may use the store, and it is read without a lock file. Close the store
    /// within a few seconds, because its pages can't be reused while it is open. Throws
    /// ``StoreError``.
    package static func openForReading(
        path: String, isPrivate: Bool = false
    ) throws(StoreError) -> Store {
        let environment = try LMDBEnvironment(
            path: path, mapBytes: nil, tables: StoreTables.count, readOnly: true,
            isLocking: !isPrivate)
        let transaction = try environment.begin(readOnly: true)
        let tables: StoreTables
        let identity: StoreIdentity
        do throws(StoreError) {
            tables = try StoreTables(transaction, create: false)
            identity = try StoreFile.identity(
                transaction, tables, path, remedy: "use a version of Tandem with that format")
        } catch {
            transaction.abort()
            throw error
        }
        try transaction.commit()
        let store = Store(path, environment, tables, identity, StoreOptions(), isReadOnly: true)
        try store.loadState()
        return store
    }

    private init(
        _ path: String, _ environment: LMDBEnvironment, _ tables: StoreTables,
        _ identity: StoreIdentity, _ options: StoreOptions, isReadOnly: Bool = false
    ) {
        self.environment = environment
        self.identity = identity
        self.isReadOnly = isReadOnly
        let decoder = EntryDecoder(path: path)
        space = StoreSpace(path, environment, tables, quotaBytes: options.quotaBytes)
        writer = ChangeWriter(tables, options, path: path, decoder)
        saveIDs = SaveIDTable(tables, options, path: path, decoder)
        consumerTable = ConsumerTable(tables.consumers, decoder)
        models = ModelTable(tables.meta, options)
        transactions = TransactionWriter(writer, saveIDs, models, path: path)
        super.init(path, tables, options)
    }

    /// Aborts the open transaction and closes the environment.
    package func close() {
        endTransaction()
        environment.close()
    }

    /// Rebuilds all index entries unless their stamp is this program's; durable on return.
    ///
    /// A store with unreadable rows keeps its entries and its stamp until it is repaired. Throws
    /// ``StoreError``, for example `overQuota` if the map is too small. Cost: usually one lookup.
    private func renewIndexes() throws(StoreError) {
        let stamp = StoreStamp(.collation, options.collation, in: tables.meta)
        guard try !stamp.isPresent(current) else { return endTransaction() }
        do throws(StoreError) {
            try IndexRenewal(self, writer.indexes).run(current)
            try stamp.write(current)
            try checkpoint()
        } catch  where error.code == .damaged {
            try revert()
        }
    }

    // MARK: The open transaction

    /// Aborts the open transaction, if there is one.
    private func endTransaction() { detachTransaction()?.abort() }

    /// Asserts the relations between the positions and the open transaction.
    private func checkInvariants() {
        assert(
            checkpointPosition <= appliedPosition,
            "A transaction is durable only after it was applied.")
        assert(
            openTransaction != nil || appliedPosition == checkpointPosition,
            "Transactions that are not durable are in the open transaction.")
        assert(
            openTransaction != nil || transactions.uncommitted.isEmpty,
            "Only the open transaction has uncommitted changes.")
    }

    override func begin() throws(StoreError) -> LMDBTransaction {
        assert(openTransaction == nil, "A store has at most one open transaction.")
        return try environment.begin(readOnly: isReadOnly)
    }

    override func cachedRow(of object: ObjectReference) -> Stored? { writer.rows.cached(object) }

    /// Sets a closure that ``checkpoint()`` calls before and after each commit, with the new
    /// position; for tests.
    func observeCommits(
        _ body: @escaping (CommitMoment, UInt64) throws(StoreError) -> Void
    ) {
        commitObserver = body
    }

    /// Commits the applied transactions; they are durable on return.
    ///
    /// Throws `noSpace` or `overQuota` with the store reverted to the last checkpoint; later
    /// transactions must then be applied again. Call ``reserveRoom()`` first. All other errors are
    /// final. Cost: writing the dirty pages, and two flushes.
    package func checkpoint() throws(StoreError) {
        guard let open = openTransaction else { return }
        let pending = pending
        do throws(StoreError) {
            try StoreState(
                applied: appliedPosition, modelPosition: modelPosition, nextNumber: nextNumber,
                saveFloor: saveFloor
            ).write(to: tables.meta, open)
            _ = detachTransaction()
            try commitObserver?(.before, appliedPosition)
            try open.commit()
        } catch {
            open.abort()
            _ = detachTransaction()
            assert(openTransaction == nil, "A failed checkpoint has ended its transaction.")
            let error = space.meaning(of: error, pending)
            guard error.code != .failed else { throw error }
            try loadState()
            throw error
        }
        try commitObserver?(.after, appliedPosition)
        checkpointPosition = appliedPosition
        transactions.didCheckpoint()
        checkInvariants()
        try space.measure()
    }

    /// Reverts to the last checkpoint; transactions after ``checkpointPosition`` must be applied
    /// again.
    package func revert() throws(StoreError) {
        endTransaction()
        try loadState()
    }

    /// Sets the epoch of the store; durable on return.
    package func setEpoch(_ epoch: UInt32) throws(StoreError) {
        identity.epoch = epoch
        try current.put(tables.meta, MetaKey.identity.key, identity.bytes)
        try checkpoint()
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

    private func loadState() throws(StoreError) {
        assert(openTransaction == nil, "The state is loaded at a checkpoint.")
        let transaction = try beginReading()
        defer { transaction.abort() }
        let state = try StoreState(in: transaction, tables.meta, decoder)
        show(state.applied)
        checkpointPosition = state.applied
        writer.numbers.restore(state.nextNumber)
        saveIDs.restore(floor: state.saveFloor)
        try space.measure()
        try models.restore(transaction)
        transactions.didCheckpoint()
        writer.forgetCached()
        let model = try StoreState.model(in: transaction, tables.meta, path)
        use(model, installedAt: state.modelPosition)
        checkInvariants()
    }

    /// Returns a snapshot of the graph at ``checkpointPosition``.
    ///
    /// No model may have been applied since that checkpoint. Throws ``StoreError``: `noReader` if
    /// all processes together have ``StoreOptions/readers`` read transactions open, in which case
    /// end a read transaction or wait. Cost: a microsecond.
    package func snapshot() throws(StoreError) -> StoreSnapshot {
        precondition(
            modelPosition <= checkpointPosition, "A model is committed before a snapshot.")
        return try StoreSnapshot(environment, of: self, at: checkpointPosition)
    }

    // MARK: Transactions

    /// Applies the next transaction to the open write transaction.
    ///
    /// Throws ``StoreError``: `overQuota` if the memory map is full, or `damaged` if the
    /// transaction doesn't fit the store. After an error, ``revert()`` must be called before the
    /// store is used again. Cost: a few microseconds per object.
    package func apply(_ encoded: EncodedTransaction) throws(StoreError) {
        try transactions.apply(encoded, to: self, current)
        checkInvariants()
    }

    /// Applies the next transaction, already decoded and planned with the store's model.
    ///
    /// Throws ``StoreError``, as for an encoded transaction.
    package func apply(_ transaction: Transaction) throws(StoreError) {
        try transactions.apply(transaction, to: self, current)
        checkInvariants()
    }

    /// The number of changes applied since the store was opened.
    package var appliedChanges: UInt64 { transactions.appliedChanges }

    /// The number of changes applied since the last checkpoint.
    package var uncommittedChanges: Int { transactions.uncommitted.changes }

    // MARK: Models

    /// The hashes of models that were installed or served, the latest one last.
    ///
    /// A client that declares one of these models is an older app.
    package var knownModels: [StableHash] { models.known }

    /// Marks a model hash as known, so that clients that declare that model are served.
    ///
    /// Only the last 64 hashes are kept. Throws ``StoreError``.
    package func knowModel(_ hash: StableHash) throws(StoreError) {
        guard knownModels.last != hash else { return }
        try models.know(hash, current)
    }

    /// Whether the folded texts in rows were made with this program's Unicode tables.
    package var foldingMatchesThisBuild: Bool {
        get throws(StoreError) { try models.folding.isPresent(current) }
    }

    /// Stamps the store with this program's Unicode tables; durable after the next checkpoint.
    package func recordFolding() throws(StoreError) { try models.folding.write(current) }

    /// Removes the stamp, so that the Unicode tables used for folding count as unknown.
    func forgetFolding() throws(StoreError) { try models.folding.remove(current) }

    // MARK: Object numbers

    /// The lowest object number above all numbers that are used or leased.
    package var nextNumber: ObjectNumber { writer.numbers.next }

    /// Leases the next `count` object numbers, and returns the first one; durable on return.
    ///
    /// Makes a checkpoint, because the high-water mark must be durable before a number below it is
    /// handed out. Throws ``StoreError``, as ``checkpoint()`` does.
    package func leaseNumbers(_ count: UInt32) throws(StoreError) -> ObjectNumber {
        let first = nextNumber
        let (next, overflow) = first.addingReportingOverflow(UInt64(count))
        guard !overflow else { throw decoder.damaged(.meta, 0, "no numbers left for new objects") }
        try skipNumbers(to: next)
        return first
    }

    /// Skips all numbers below `number`, so that they are never leased.
    func raiseNumbers(to number: ObjectNumber) { writer.numbers.raise(to: number) }

    /// Skips all numbers below `number`, so that they are never leased; durable on return.
    func skipNumbers(to number: ObjectNumber) throws(StoreError) {
        raiseNumbers(to: number)
        _ = try current
        try checkpoint()
        assert(nextNumber >= number && openTransaction == nil, "The higher mark is durable.")
    }

    // MARK: Save ids

    /// The position below which save ids are no longer known.
    package var saveFloor: UInt64 { saveIDs.floor }

    /// Returns the recorded answer to a user's save, or nil if there is none.
    ///
    /// Throws `damaged` if the record can't be read.
    package func save(by uid: UInt32, id: [UInt8]) throws(StoreError) -> IdempotencyRecord? {
        try saveIDs.record(by: uid, id: id, current)
    }

    /// Records a save that wrote no transaction; durable after the next ``checkpoint()``.
    package func rememberUnchanged(
        _ saved: IdempotencyRecord, by uid: UInt32, id: [UInt8]
    ) throws(StoreError) {
        try saveIDs.rememberUnchanged(saved, by: uid, id: id, current)
    }

    /// Removes a bounded number of expired save ids, which remain if ``StoreOptions/savesKept`` was
    /// lowered.
    ///
    /// Durable after the next ``checkpoint()``. Cost: usually one read of the oldest entry.
    package func sweepSaves() throws(StoreError) { try saveIDs.sweep(current) }

    // MARK: Consumers, blobs and ranks

    /// Returns all consumers, sorted by name.
    ///
    /// Throws `damaged` if any consumer can't be read, so that no segment that it may need is
    /// removed.
    package func consumers() throws(StoreError) -> [Consumer] { try consumerTable.all(current) }

    /// Returns the consumer with a name, or nil if there is none.
    ///
    /// Throws `damaged` if its position can't be read.
    package func consumer(named name: String) throws(StoreError) -> Consumer? {
        try consumerTable.consumer(named: name, current)
    }

    /// Registers a consumer, or replaces the one with the same name.
    ///
    /// The name must have 1 to 511 bytes, the limits of an LMDB key.
    package func put(_ consumer: Consumer) throws(StoreError) {
        try consumerTable.put(consumer, current)
    }

    /// Removes a consumer; returns false if there is none with that name.
    @discardableResult
    package func removeConsumer(named name: String) throws(StoreError) -> Bool {
        try consumerTable.remove(named: name, current)
    }

    /// Removes up to `most` blobs that became unused before a position, and returns their number.
    ///
    /// Pass the first position that the journal still has, because states before that position
    /// can't be read. Cost: proportional to the number of removed blobs.
    @discardableResult
    package func sweepBlobs(
        below position: UInt64, atMost most: Int = .max
    ) throws(StoreError) -> Int {
        try writer.blobs.sweep(below: position, atMost: most, current)
    }

    /// Returns the last rank of an ordered relationship, or nil if it has no members.
    ///
    /// Throws `damaged` for a link without a rank. Cost: negligible if the rank is cached;
    /// otherwise reads all links of the owner.
    package func lastRank(
        of owner: ObjectNumber, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Rank? {
        try writer.links.lastRank(of: owner, relationship, in: self)
    }

    /// Empties the caches; required after tables were written directly.
    func forgetCached() { writer.forgetCached() }

    // MARK: Space

    /// The maximum size of the store in bytes, without free pages.
    package var quotaBytes: Int { space.quotaBytes }

    /// The part of the quota in use, in bytes.
    ///
    /// Free pages are subtracted only if more than three quarters of the quota are in use. The
    /// number includes an estimate of the writes since the last checkpoint, usually too high.
    package var quotaUsedBytes: Int { space.usedBytes(pending) }

    /// The size of the file up to its last used page, in bytes, free pages included.
    package var usedBytes: Int { environment.usage.usedBytes }

    /// An estimate of the number of pages that a checkpoint would write now, usually too high.
    ///
    /// Each write dirties one page, and a table can't have more dirty pages than pages. Cost: less
    /// than a microsecond.
    package var dirtyPages: Int {
        guard let transaction = openTransaction else { return 0 }
        return space.dirtyPages(
            transaction, bytes: transactions.uncommitted.bytes,
            scatteredSaves: saveIDs.scatteredWrites)
    }

    private var pending: PendingWrites {
        PendingWrites(pages: dirtyPages, bytes: transactions.uncommitted.bytes)
    }

    /// Whether a replay should make a checkpoint before it continues, unless a save is waiting.
    package var isReplayFull: Bool {
        transactions.uncommitted.changes >= StoreLimits.replayChanges
            || (transactions.uncommitted.changes >= 16_384 && dirtyPages >= StoreLimits.replayPages)
    }

    /// Throws `overQuota` if, by estimate, the store has no room for `bytes` more bytes.
    ///
    /// Call this before anything is applied. Cost: less than a microsecond.
    package func checkQuota(for bytes: Int) throws(StoreError) {
        try space.checkQuota(for: bytes, pending)
    }

    /// Reserves disk space for a checkpoint; throws `noSpace` with nothing changed.
    ///
    /// The reserved size is an estimate. In rare cases, a checkpoint still finds the disk full, and
    /// has to be repeated from the journal.
    package func reserveRoom() throws(StoreError) {
        guard openTransaction != nil else { return }
        try space.reserve(for: pending)
    }

    /// Returns the error, or a `noSpace` error if it is an I/O error caused by a full disk.
    package func meaning(of error: StoreError) -> StoreError { space.meaning(of: error, pending) }

    /// Reserves disk space for rewriting all rows and their keys, as a model change does.
    ///
    /// Throws `noSpace` or `overQuota` with nothing changed. The size is an estimate, as with
    /// ``reserveRoom()``. Call ``releaseReservedSpace()`` if the rewrite doesn't take place.
    package func reserveRoomToRewrite() throws(StoreError) {
        guard model != nil else { return }
        try space.reserveToRewrite(current, pending)
    }

    /// Releases the disk space reserved beyond the last page of the last checkpoint.
    ///
    /// Has no effect if transactions were applied since the checkpoint.
    package func releaseReservedSpace() {
        guard appliedPosition == checkpointPosition, transactions.uncommitted.changes == 0 else {
            return
        }
        endTransaction()
        space.releaseReservedSpace()
    }

    // MARK: Maintenance

    /// Lowers the position below which save ids are no longer known.
    func lowerSaveFloor(to position: UInt64) { saveIDs.lowerFloor(to: position) }

    /// Writes a compact copy of the last checkpoint to a new file; durable on return.
    ///
    /// The file must not exist. Later transactions are not in the copy. Writers are not blocked.
    /// Cost: reads and writes every page in use.
    package func copyCheckpoint(
        to file: String, progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(StoreError) {
        try environment.copy(to: file, progress)
    }

    /// Frees the slots of dead readers, and returns their number.
    package func checkReaders() throws(StoreError) -> Int { try environment.checkReaders() }

    /// The current readers of the store in all processes.
    package var readers: StoreReaders { environment.readers }
}
