import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

/// The owner and only writer of journal and store; bound to the daemon's thread.
///
/// Each save of a batch is passed to ``begin(_:by:)``, which checks it, plans it, applies it to the
/// open LMDB transaction and encodes it. Then ``flush()`` writes the batch to the journal and
/// flushes it once. Nothing of a batch may be sent to any client before `flush` has returned (law
/// 1).
///
/// State:
/// - `journal`, `store`: the durable state and the applied state; the store has applied every
///   planned transaction of the batch.
/// - `batch`: the transactions of the batch being built, applied but not yet durable.
/// - `ring`, `historyIndex`: the newest durable transactions, and the ranges that a history request
///   may skip.
/// - `idempotencyTable`, `consumers`: answers and acknowledgements that the next checkpoint writes.
/// - `shortages`: the read-only state; only ``enterReadOnly(_:_:bytes:)`` and ``leaveReadOnly(_:)``
///   change it.
/// - `schedule`: the times at which the store is committed.
final class Committer {
    let journal: Journal
    let store: Store
    let clock: any Clock
    let limitCounters = LimitCounters()
    private(set) var limits: DaemonLimits
    private(set) var ring: TransactionRing
    private(set) var historyIndex = HistoryIndex()
    private(set) var leases: LeaseAllocator
    private(set) var idempotencyTable: IdempotencyTable
    private(set) var consumers: ConsumerRegistry
    private(set) var reporter: CommitReporter
    private(set) var shortages: ShortageMonitor
    private(set) var schedule: CheckpointSchedule
    private var batch = OpenBatch()
    private let replay: JournalReplay

    init(
        journal: Journal, store: Store, clock: any Clock, limits: DaemonLimits = DaemonLimits(),
        log: DaemonLog, notifier: ServiceNotifier? = nil
    ) throws {
        self.journal = journal
        self.store = store
        self.clock = clock
        self.limits = limits
        ring = TransactionRing(transactions: limits.ringTransactions, bytes: limits.ringBytes)
        leases = LeaseAllocator(store, atOnce: limits.leaseNumbers)
        idempotencyTable = IdempotencyTable(store)
        consumers = ConsumerRegistry(journal, store)
        reporter = CommitReporter(log: log)
        shortages = ShortageMonitor(clock: clock, log: log)
        schedule = CheckpointSchedule(now: 0)
        replay = JournalReplay(journal: journal, store: store, clock: clock, notifier: notifier)
        try replayFromCheckpoint()
        leases = LeaseAllocator(store, atOnce: limits.leaseNumbers)
        schedule = CheckpointSchedule(now: clock.monotonicNanoseconds)
        checkInvariants()
        try FoldingRenewal(self).run()
    }

    /// Asserts the relations between journal, store, batch and ring; called after every change.
    private func checkInvariants() {
        assert(
            store.appliedPosition == plannedPosition,
            "The store has applied every planned transaction of the batch.")
        assert(
            store.checkpointPosition <= position, "The store is never durable beyond the journal.")
        assert(
            batch.transactions.first.map { $0.position == position + 1 } ?? true,
            "The batch continues the journal.")
        assert(
            ring.last.map { $0 == position } ?? true,
            "The ring ends with the last durable transaction.")
    }

    /// Adopts new limits; those of store, ring, leases and readers are fixed at the start.
    func setLimits(_ limits: DaemonLimits) { self.limits = limits }

    var counters: CommitCounters { reporter.counters }
    var readOnlyState: ReadOnlyState { shortages.state }
    /// The approximate number of bytes written by all checkpoints since the start.
    var committedBytes: UInt64 { schedule.committedBytes }

    /// The last durable position.
    var position: UInt64 { journal.tail.last }

    /// The last durable position, with the log and the epoch to which it belongs.
    var logPosition: Position {
        let identity = store.identity
        return Position(log: identity.log, epoch: identity.epoch, number: position)
    }

    /// The last position of the batch being built.
    var plannedPosition: UInt64 { position + UInt64(batch.count) }

    /// Whether a batch is being built.
    var hasPending: Bool { !batch.isEmpty }

    /// Whether the batch must be flushed before another save is planned.
    var isBatchFull: Bool { reachedLimit != nil }

    /// The limit that the batch has reached, if any.
    private var reachedLimit: Limit? {
        if batch.count + idempotencyTable.unsettled >= limits.batchSaves { return .batchSaves }
        return batch.frameBytes >= limits.batchBytes ? .batchBytes : nil
    }

    // MARK: Saves

    /// The result of planning a save.
    enum Outcome {
        /// The save is in the batch; the answer may be sent after the flush.
        case planned(SaveAnswer)
        /// The save needs no transaction.
        case answered(SaveAnswer)
    }

    /// Checks, plans and applies a save.
    ///
    /// Throws ``TandemError`` for errors of the client.
    func begin(_ request: SaveRequest, by principal: Principal) throws -> Outcome {
        let uid = principal.uid
        if let first = try remembered(request, uid) {
            if first.isRepeat { reporter.countRepeat() }
            return .answered(first)
        }
        guard let model = store.model else {
            throw TandemError.noModel()
        }
        try model.check(slotsOf: request.modelVersion, "the save", "nothing was saved; save again")
        var outcome: Outcome?
        try mappingShortage {
            let plan = try StoreError.mappingDamage(self) {
                try SavePlanner.plan(
                    request, model: model, store: store, numbersBelow: leases.numbersBelow,
                    limits: limits, counts: limitCounters)
            }
            guard !plan.changes.isEmpty else {
                // Recording the answer needs room as well.
                try reserve(0)
                let saved = SaveAnswer(
                    position: plannedPosition, wrote: false, inserted: plan.inserted)
                idempotencyTable.record(saved, to: request, by: uid)
                outcome = .answered(saved)
                return
            }
            var transaction = Transaction(
                principal: principal, saveID: request.saveID, contentHash: request.contentHash,
                content: .objects(plan.changes), blobs: plan.blobs)
            if !plan.inserted.isEmpty { transaction = transaction.withOutcomes(plan.inserted) }
            try append(&transaction)
            outcome = .planned(
                SaveAnswer(position: plannedPosition, wrote: true, inserted: plan.inserted))
        }
        guard let outcome else { preconditionFailure("The save was planned or rejected.") }
        return outcome
    }

    /// Returns the recorded answer if the save is a retry.
    private func remembered(_ request: SaveRequest, _ uid: UInt32) throws -> SaveAnswer? {
        do {
            return try idempotencyTable.answer(to: request, by: uid, end: plannedPosition)
        } catch let error as TandemError {
            if error.code == .unknownOutcome { limitCounters.record(.savesKept) }
            throw error
        }
    }

    /// Records the end of a batch that had no effect, like a save without changes; durable after
    /// the flush.
    func recordUnchanged(_ batch: Batch, _ progress: BatchProgress, by uid: UInt32) throws -> UInt64
    {
        try reserve(0)
        idempotencyTable.record(progress, of: batch, by: uid, at: plannedPosition)
        return plannedPosition
    }

    /// Records that a consumer no longer needs the transactions up to a position; the position
    /// never moves back.
    ///
    /// Durable with the next checkpoint. Throws `usage` for an unregistered name or a position
    /// after the tail, and `historyExpired` if the consumer is expired.
    @discardableResult
    func acknowledge(_ name: String, _ position: UInt64) throws -> Consumer {
        try consumers.acknowledge(name, position, at: clock.monotonicNanoseconds)
    }

    /// Adds a transaction that a history request has read to the index of skippable ranges.
    func recordHistory(_ transaction: EncodedTransaction) { historyIndex.record(transaction) }

    /// Runs `body`, which applies a transaction; throws `readOnly` if the store has no room for it.
    func mappingShortage(_ body: () throws -> Void) throws {
        do {
            try revertingShortage(body)
        } catch let error as StoreError {
            throw enterReadOnly(error) ?? error
        }
    }

    /// Installs a model as a transaction of its own, durable on return.
    ///
    /// `declared` is the hash of an app's model if the installed model is a superset of that model.
    /// Throws `readOnly` if there is no room to rewrite the rows; in that case nothing has changed.
    func install(
        _ compiled: CompiledModel, declared: StableHash? = nil, by principal: Principal
    ) throws {
        try flush()
        let differences = try ModelChange.differences(to: compiled.model, store)
        try append(
            ModelInstallation(compiled, declared: declared, differences: differences),
            by: principal)
        try flush()
        try checkpoint()
        reporter.log(
            .modelInstalled,
            [
                "model": compiled.hash, "version": compiled.version, "position": position,
                "differences": differences.count,
                "pid": principal.pid, "uid": principal.uid, "author": principal.author,
                "unit": principal.unit,
            ])
    }

    /// Installs a whole model, unless it is already the store's model.
    ///
    /// Throws the errors of ``install(_:declared:by:)``, and ``TandemError`` with the list of
    /// differences if the change requires a migration.
    func install(_ model: ManagedObjectModel, by principal: Principal) throws {
        try flush()
        guard case .installs(let compiled) = try ModelChange.plan(whole: model, store: store)
        else { return }
        try install(compiled, by: principal)
    }

    /// Records the hash of a model that a served app declares; does nothing if there is no room.
    func recordDeclaredModel(_ declared: StableHash) throws {
        guard !store.knownModels.contains(declared), !isReadOnly else { return }
        do {
            try revertingShortage { try store.knowModel(declared) }
        } catch let error as StoreError {
            guard error.isShortage else { throw error }
        }
    }

    /// Adds a model change to the batch, after reserving room for all rows that it rewrites.
    private func append(_ model: ModelInstallation, by principal: Principal) throws {
        try reserve(0)
        // A change that does not fit is undone by reverting to the checkpoint, so no other
        // transaction may follow the checkpoint.
        if store.appliedPosition > store.checkpointPosition, !(try checkpoint()) {
            throw readOnlyState.refusal ?? TandemError(.readOnly, "the store accepts no changes")
        }
        do {
            try mappingShortage {
                try store.reserveRoomToRewrite()
                var transaction = Transaction(principal: principal, content: .model(model.bytes))
                try append(&transaction)
            }
        } catch let error as TandemError {
            if error.code == .readOnly { store.releaseReservedSpace() }
            throw error
        }
    }

    /// Adds a transaction to the batch, and sets its position and time.
    func append(_ transaction: inout Transaction) throws {
        transaction.position = plannedPosition + 1
        transaction.time = clock.wallMicroseconds
        let encoded = transaction.encoded()
        let bytes = max(encoded.blobBytes, encoded.bytes.count - encoded.blobBytes)
        guard bytes <= limits.transactionBytes else {
            throw limitCounters.refusal(
                .transactionBytes, limits, "the save has \(bytes) bytes; save in several steps")
        }
        try reserve(encoded.bytes.count)
        try store.apply(transaction)
        batch.append(encoded)
        checkInvariants()
    }

    // MARK: Durability

    /// The result of a flush.
    struct Flush {
        /// The transactions that the flush made durable.
        var transactions: [EncodedTransaction]
        /// The error of the checkpoint that should have recorded the answers to saves without
        /// changes; nil if it succeeded or was not needed.
        var checkpointError: TandemError?
    }

    /// Makes the batch durable with one write and one flush.
    ///
    /// Answers to saves without changes are recorded only in the store, so a checkpoint follows if
    /// there are any. If there is no room for the checkpoint, those saves must be rejected with
    /// ``Flush/checkpointError``.
    ///
    /// Throws `readOnly` if the disk is full; the batch is discarded and has no effect. Any other
    /// error is fatal for the process, because the store has applied transactions that the journal
    /// lacks.
    @discardableResult
    func flush() throws -> Flush {
        if let limit = reachedLimit { limitCounters.record(limit) }
        var done = Flush(transactions: try write())
        if idempotencyTable.unsettled > 0, !(try checkpoint()) {
            idempotencyTable.discard()
            done.checkpointError = readOnlyState.refusal
            assert(isReadOnly, "A checkpoint without room makes the daemon read-only.")
        }
        assert(
            idempotencyTable.unsettled == 0, "All answers of the batch are durable or discarded.")
        return done
    }

    private func write() throws -> [EncodedTransaction] {
        guard !batch.isEmpty else { return [] }
        let start = clock.monotonicNanoseconds
        let outcome: AppendOutcome
        do {
            outcome = try batch.write(to: journal, after: position)
        } catch {
            guard error.code == .noSpace else { throw error }
            throw try discardBatch(because: error)
        }
        guard case .committed(let positions) = outcome else {
            throw DaemonError(.storage, "the batch could not be written to the journal: \(outcome)")
        }
        let done = batch.begin()
        assert(
            positions.lowerBound == done.first?.position
                && positions.upperBound == done.last?.position,
            "The transactions have the positions for which they were planned.")
        for transaction in done { keep(transaction) }
        checkInvariants()
        let end = clock.monotonicNanoseconds
        schedule.didFlush(at: end)
        reporter.recordFlush(of: done.count, upTo: position, from: start, to: end)
        return done
    }

    /// Records how long a request occupied the daemon's thread.
    func record(request start: UInt64, until end: UInt64) {
        reporter.record(.request, from: start, to: end)
    }

    /// Adds a durable transaction to the ring and the history index.
    private func keep(_ transaction: EncodedTransaction) {
        if let limit = ring.append(transaction) { limitCounters.record(limit) }
        historyIndex.record(transaction)
    }

    /// Discards a batch for which the journal had no room; returns the error for its saves.
    private func discardBatch(because error: JournalError) throws -> TandemError {
        let refusal = enterReadOnly(.journal, error.description, bytes: batch.frameBytes)
        batch.discard()
        idempotencyTable.discard()
        try store.revert()
        try replayFromCheckpoint()
        checkInvariants()
        return refusal
    }

    /// Commits the store if a checkpoint is due.
    ///
    /// Returns the milliseconds until a checkpoint may be due, or nil if none is scheduled.
    func checkpointIfDue() throws -> Int32? {
        guard store.appliedPosition > store.checkpointPosition || consumers.isUnsettled else {
            return nil
        }
        // A shortage is retried on its own schedule.
        guard !shortages.isStoreShort else { return nil }
        let now = clock.monotonicNanoseconds
        let next = schedule.next(
            now: now, dirtyPages: store.dirtyPages, lastAcknowledged: consumers.lastAcknowledged,
            limits)
        switch next {
        case .due(let limit):
            limitCounters.record(limit)
            try checkpoint()
            return nil
        case .at(let due): return Int32((due - now) / 1_000_000 + 1)
        }
    }

    /// The lag of the oldest reader of the store's file, in any process.
    var readerLag: CommitLog.Lag {
        schedule.lag(behind: store.readers.oldestCommit, now: clock.monotonicNanoseconds)
    }

    /// Whether a commit is expected to succeed, or is not needed.
    var canCommit: Bool {
        !shortages.isStoreShort || store.appliedPosition == store.checkpointPosition
    }

    /// Commits the store for waiting reads if such a checkpoint is due.
    ///
    /// Returns the time when the checkpoint will be due, in nanoseconds of the monotonic clock, or
    /// nil if reads need not wait for it.
    func checkpointForReads() throws -> UInt64? {
        guard canCommit, store.appliedPosition > store.checkpointPosition else { return nil }
        let due = schedule.dueForReads
        guard clock.monotonicNanoseconds >= due else { return due }
        reporter.countReadCheckpoint()
        try checkpoint(isForReads: true)
        return nil
    }

    /// Commits the store, after making the journal durable up to the same position.
    ///
    /// Returns false if there was no room. In that case the daemon is read-only, the uncommitted
    /// transactions are in the journal, and `change`, which is part of the commit, was not made.
    @discardableResult
    func checkpoint(
        isForReads: Bool = false, with change: () throws -> Void = {}
    ) throws -> Bool {
        let first = journal.bounds.first
        let (now, sweep) = (clock.monotonicNanoseconds, schedule.sweep)
        let isSweeping = sweep.isDue(now, isForReads: isForReads)
        var isSwept = false
        // This sweep precedes the estimate of the commit's size. It is skipped while room is short.
        let refusal = try commits(
            isForReads: isForReads, after: { if isSweeping, !isReadOnly { try store.sweepSaves() } }
        ) {
            if isSweeping { isSwept = try sweep.removeBlobs(below: first, from: store) }
            try idempotencyTable.write()
            try consumers.write()
            try change()
            try store.checkpoint()
        }
        guard refusal == nil else { return false }
        if isSweeping { schedule.didSweep(below: isSwept ? first : nil, at: now) }
        idempotencyTable.didCheckpoint()
        consumers.didCheckpoint()
        assert(
            store.checkpointPosition == store.appliedPosition, "A checkpoint commits everything.")
        checkInvariants()
        return true
    }

    /// Runs `body`, which commits the store, if there is room; otherwise returns the error for
    /// saves.
    private func commits(
        isForReads: Bool = false, after preparation: () throws -> Void = {},
        _ body: () throws -> Void
    ) throws -> TandemError? {
        assert(!hasPending, "Only transactions that the journal has are committed.")
        let (pages, start) = (store.dirtyPages, clock.monotonicNanoseconds)
        try journal.sync()
        do {
            try revertingShortage(preparation)
            try store.reserveRoom()
            try revertingShortage(body)
        } catch let error as StoreError {
            guard let refusal = enterReadOnly(error) else { throw error }
            return refusal
        }
        leaveReadOnly(.store)
        leaveReadOnly(.map)
        let end = clock.monotonicNanoseconds
        schedule.didCommit(
            store.readers.lastCommit, pages: pages, bytes: UInt64(pages * Store.pageBytes),
            from: start, to: end)
        reporter.recordCheckpoint(
            at: store.checkpointPosition, isForReads: isForReads, from: start, to: end)
        return nil
    }

    /// Leases object numbers to a client.
    ///
    /// Throws `readOnly` if more numbers must be reserved and there is no room to record that.
    func lease(_ count: UInt32) throws -> Lease {
        let epoch = store.identity.epoch
        // Reserving numbers commits the store.
        if leases.isShort(of: count) {
            if let refusal = readOnlyState.refusal { throw refusal }
            if let refusal = try commits({ try leases.reserve(store) }) { throw refusal }
        }
        if count > limits.leaseNumbers { limitCounters.record(.leaseNumbers) }
        let lease = leases.lease(count)
        assert(
            lease.upperBound <= store.nextNumber, "Leased numbers lie below the durable mark.")
        return Lease(first: lease.lowerBound, count: UInt32(lease.count), epoch: epoch)
    }

    // MARK: Shortage

    // A shortage never endangers durable transactions. If no room can be reserved for a checkpoint,
    // the changes stay in the open transaction. If the commit itself fails, they are applied again.
    // Their number is bounded, because no saves are accepted in the meantime.

    /// Whether saves are rejected.
    var isReadOnly: Bool { shortages.isReadOnly }

    /// Reserves room in journal and store before anything is applied.
    ///
    /// Throws `readOnly` during any shortage.
    func reserve(_ bytes: Int) throws {
        try retryIfDue()
        if let refusal = readOnlyState.refusal { throw refusal }
        do throws(StoreError) {
            try store.checkQuota(for: bytes)
        } catch {
            throw enterReadOnly(error) ?? error
        }
        let frame = batch.frameBytes + bytes + 64
        let start = clock.monotonicNanoseconds
        do {
            try journal.reserve(bytes: frame)
            reporter.record(.segment, from: start, to: clock.monotonicNanoseconds)
        } catch {
            guard error.code == .noSpace else { throw error }
            throw enterReadOnly(.journal, error.description, bytes: frame)
        }
    }

    /// Retries the shortages that are due.
    func retryIfDue() throws {
        guard isReadOnly, !hasPending else { return }
        for active in shortages.due() {
            switch active.shortage {
            case .journal: try probeSegment(active.bytes)
            // A checkpoint commits the store, which ends both shortages or records them again.
            case .store, .map: try checkpoint()
            }
        }
    }

    private func probeSegment(_ bytes: Int) throws {
        do {
            try journal.reserve(bytes: bytes)
            leaveReadOnly(.journal)
        } catch {
            guard error.code == .noSpace else { throw error }
            enterReadOnly(.journal, error.description, bytes: bytes)
        }
    }

    /// Records a shortage, and logs it if it is new; returns the error for saves.
    @discardableResult
    func enterReadOnly(
        _ shortage: ReadOnlyState.Shortage, _ detail: String, bytes: Int = 0
    ) -> TandemError {
        shortages.enter(shortage, detail, bytes: bytes, at: position)
    }

    /// Records a shortage of the store; returns nil for any other error.
    @discardableResult
    func enterReadOnly(_ error: StoreError) -> TandemError? {
        switch error.code {
        case .noSpace: enterReadOnly(.store, error.message)
        case .overQuota: enterReadOnly(.map, error.message)
        default: nil
        }
    }

    /// Clears a shortage, and logs the change.
    func leaveReadOnly(_ shortage: ReadOnlyState.Shortage) {
        shortages.leave(shortage, at: position)
    }

    // MARK: Recovery

    /// Runs `body`; if the store has no room for it, restores the previous state and throws the
    /// ``StoreError``.
    func revertingShortage<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            let error = store.meaning(of: error)
            guard error.isShortage else { throw error }
            try store.revert()
            try replayFromCheckpoint()
            throw error
        }
    }

    /// Applies the journal after the store's checkpoint, and then the batch, to a reverted store.
    ///
    /// A lack of room is fatal here, because the store had room for these transactions before.
    private func replayFromCheckpoint() throws {
        let done = try replay.run(keep: keepReplayed, commit: commitReplayed)
        if let done { reporter.record(done) }
        for transaction in batch.transactions where transaction.position > store.appliedPosition {
            try store.apply(transaction)
        }
        assert(
            store.appliedPosition == plannedPosition,
            "A reverted store has caught up with the journal and the batch.")
    }

    /// Adds a replayed transaction to the ring, unless it was there before the store was reverted.
    private func keepReplayed(_ transaction: EncodedTransaction) {
        guard ring[transaction.position] == nil,
            ring.first.map({ $0 < transaction.position }) ?? true
        else { return }
        keep(transaction)
    }

    /// Commits a part of the replay.
    ///
    /// If there is no room, everything stays in the open transaction. After a failed commit,
    /// the replay applies the lost part again.
    private func commitReplayed() throws {
        guard !readOnlyState.isShort(.store) else { return }
        try journal.sync()
        do {
            try store.reserveRoom()
            try store.checkpoint()
        } catch {
            guard error.code == .noSpace else { throw error }
            enterReadOnly(error)
        }
    }

    // MARK: Closing

    /// Makes a final checkpoint and closes journal and store.
    func close() throws {
        try flush()
        if !(try checkpoint()) {
            reporter.log(
                .checkpointMissed, ["position": position],
                "the journal has the transactions since the last checkpoint")
        }
        store.close()
        try journal.close()
    }
}
