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
/// - `batch`, `pending`: the transactions of the batch being built, applied but not yet durable.
/// - `ring`: durable transactions only.
final class Committer {
    let journal: Journal
    let store: Store
    private(set) var ring: TransactionRing
    /// The ranges of the journal that a history request may skip.
    var historyIndex = HistoryIndex()
    private(set) var leases: LeaseAllocator
    var idempotencyTable: IdempotencyTable
    /// Acknowledged positions that no checkpoint includes yet.
    var consumers: PendingAcknowledgements
    private var batch = BatchBuilder(capacity: 1 << 16)
    private var pending: [EncodedTransaction] = []
    let clock: any Clock
    var limits: DaemonLimits
    let log: DaemonLog
    private let notifier: ServiceNotifier?
    let limitCounters = LimitCounters()
    var counters = CommitCounters()
    /// The read-only state; only ``enterReadOnly(_:_:bytes:)`` and ``leaveReadOnly(_:)`` change it.
    var readOnlyState = ReadOnlyState()
    /// The time when the last batch became durable, in nanoseconds of the monotonic clock.
    private(set) var lastSave: UInt64 = 0
    private var lastCheckpoint: UInt64 = 0
    private var lastCheckpointLength: UInt64 = 0
    /// The approximate number of bytes written by all checkpoints since the start.
    private(set) var committedBytes: UInt64 = 0
    private var commits = CommitLog()
    private var pace = CheckpointPace()
    /// The error for the saves without changes of the last batch, if their answers could not be
    /// recorded.
    private(set) var unkeptRefusal: TandemError?
    /// Blobs last referenced before this position have been removed.
    private var sweptBelow: UInt64 = 0

    init(
        journal: Journal, store: Store, clock: any Clock, limits: DaemonLimits = DaemonLimits(),
        log: DaemonLog, notifier: ServiceNotifier? = nil
    ) throws {
        self.journal = journal
        self.store = store
        self.clock = clock
        self.limits = limits
        ring = TransactionRing(transactions: limits.ringTransactions, bytes: limits.ringBytes)
        self.log = log
        self.notifier = notifier
        leases = LeaseAllocator(store, atOnce: limits.leaseNumbers)
        idempotencyTable = IdempotencyTable(store)
        consumers = PendingAcknowledgements(store)
        try replayFromCheckpoint()
        leases = LeaseAllocator(store, atOnce: limits.leaseNumbers)
        lastCheckpoint = clock.monotonicNanoseconds
        checkInvariants()
        try renewFoldedTexts()
    }

    /// Asserts the relations between journal, store, batch and ring; called after every change.
    private func checkInvariants() {
        assert(
            store.appliedPosition == plannedPosition,
            "The store has applied every planned transaction of the batch.")
        assert(
            store.checkpointPosition <= position, "The store is never durable beyond the journal.")
        assert(batch.count == pending.count, "The batch has the planned transactions.")
        assert(
            pending.first.map { $0.position == position + 1 } ?? true,
            "The batch continues the journal.")
        assert(
            ring.last.map { $0 == position } ?? true,
            "The ring ends with the last durable transaction.")
    }

    /// The last durable position.
    var position: UInt64 { journal.tail.last }

    /// The last durable position, with the log and the epoch to which it belongs.
    var logPosition: Position {
        let identity = store.identity
        return Position(log: identity.log, epoch: identity.epoch, number: position)
    }

    /// The last position of the batch being built.
    var plannedPosition: UInt64 { position + UInt64(pending.count) }

    /// The size of the batch being built, in bytes.
    var frameBytes: Int { batch.frameBytes }

    /// Whether a batch is being built.
    var hasPending: Bool { !pending.isEmpty }

    /// Whether the batch must be flushed before another save is planned.
    var isBatchFull: Bool { fullness != nil }

    /// The limit that the batch has reached, if any.
    private var fullness: Limit? {
        if pending.count + idempotencyTable.unsettled >= limits.batchSaves { return .batchSaves }
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
            if first.isRepeat { counters.repeats += 1 }
            return .answered(first)
        }
        guard let model = store.model else {
            throw TandemError.noModel()
        }
        try model.check(slotsOf: request.modelVersion, "the save", "nothing was saved; save again")
        var outcome: Outcome?
        try mappingShortage {
            let plan = try mappingDamage {
                try SavePlanner.plan(
                    request, model: model, store: store, numbersBelow: leases.numbersBelow,
                    limits: limits, counts: limitCounters)
            }
            guard !plan.changes.isEmpty else {
                // Recording the answer takes room as well.
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
    func remembered(_ request: SaveRequest, _ uid: UInt32) throws -> SaveAnswer? {
        do {
            return try idempotencyTable.answer(to: request, by: uid, end: plannedPosition)
        } catch let error as TandemError {
            if error.code == .unknownOutcome { limitCounters.record(.savesKept) }
            throw error
        }
    }

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
        log(
            .modelInstalled,
            [
                "model": compiled.hash, "version": compiled.version, "position": position,
                "differences": differences.count,
                "pid": principal.pid, "uid": principal.uid, "author": principal.author,
                "unit": principal.unit,
            ])
    }

    /// Installs a whole model, unless the store has it, as ``install(_:declared:by:)`` does.
    ///
    /// Also throws ``TandemError`` with the list of differences if the change requires a migration.
    func install(_ model: Model, by principal: Principal) throws {
        try flush()
        guard case .installs(let compiled) = try ModelChange.plan(whole: model, store: store)
        else { return }
        try install(compiled, by: principal)
    }

    /// Records the hash of a model that served apps declare; does nothing if there is no room.
    func know(_ declared: StableHash) throws {
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
            if error.code == .readOnly { store.giveBackRoom() }
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
                .transactionBytes, limits, "the save takes \(bytes) bytes; save in parts")
        }
        try reserve(encoded.bytes.count)
        try store.apply(transaction)
        batch.append(encoded.bytes)
        pending.append(encoded)
        checkInvariants()
    }

    // MARK: Durability

    /// Makes the batch durable with one write and one flush; returns its transactions.
    ///
    /// Answers to saves without changes are recorded only in the store, so a checkpoint follows if
    /// there are any. If there is no room for the checkpoint, those saves must be rejected with
    /// ``unkeptRefusal``.
    ///
    /// Throws `readOnly` if the disk is full; the batch is discarded and has no effect. Any other
    /// error is fatal for the process, because the store has applied transactions that the journal
    /// lacks.
    @discardableResult
    func flush() throws -> [EncodedTransaction] {
        if let limit = fullness { limitCounters.record(limit) }
        let done = try write()
        unkeptRefusal = nil
        if idempotencyTable.unsettled > 0, !(try checkpoint()) {
            idempotencyTable.forget()
            unkeptRefusal = readOnlyState.refusal
            assert(unkeptRefusal != nil, "A checkpoint that found no room has left a reason.")
        }
        assert(
            idempotencyTable.unsettled == 0, "All answers of the batch are durable or discarded.")
        return done
    }

    private func write() throws -> [EncodedTransaction] {
        guard !pending.isEmpty else { return [] }
        let start = clock.monotonicNanoseconds
        let outcome: AppendOutcome
        do {
            outcome = try journal.append(expected: position, batch: &batch)
        } catch {
            guard error.code == .noSpace else { throw error }
            throw try forgetBatch(because: error)
        }
        guard case .committed(let positions) = outcome else {
            throw DaemonError(.storage, "the batch could not be written to the journal: \(outcome)")
        }
        assert(
            positions.lowerBound == pending.first?.position
                && positions.upperBound == pending.last?.position,
            "The journal gives the transactions the positions for which they were planned.")
        batch.removeAll()
        let done = pending
        pending.removeAll(keepingCapacity: true)
        for transaction in done { keep(transaction) }
        checkInvariants()
        lastSave = clock.monotonicNanoseconds
        counters.record(batchOf: done.count, nanoseconds: lastSave - start)
        counters.stalls.record(.flush, from: start, to: lastSave)
        recordFlush(of: done.count, nanoseconds: lastSave - start)
        return done
    }

    /// Records how long work on a request occupied the thread, by the engine's clock.
    func record(request start: UInt64, until end: UInt64) {
        counters.stalls.record(.request, from: start, to: end)
    }

    /// Adds a durable transaction to the ring, for the sessions at the tail.
    private func keep(_ transaction: EncodedTransaction) {
        if let limit = ring.append(transaction) { limitCounters.record(limit) }
        historyIndex.record(transaction)
    }

    /// Discards a batch that the journal had no room for; returns the error for its saves.
    private func forgetBatch(because error: JournalError) throws -> TandemError {
        let refusal = enterReadOnly(.journal, error.description, bytes: batch.frameBytes)
        batch.removeAll()
        pending.removeAll()
        idempotencyTable.forget()
        try store.revert()
        try replayFromCheckpoint()
        checkInvariants()
        return refusal
    }

    /// Commits the store if a checkpoint is due.
    ///
    /// Returns the milliseconds until one may be due, or nil if there is nothing to commit.
    func checkpointIfDue() throws -> Int32? {
        guard store.appliedPosition > store.checkpointPosition || consumers.isUnsettled else {
            return nil
        }
        // A shortage is retried on its own schedule.
        guard !readOnlyState.isShort(.store), !readOnlyState.isShort(.map) else { return nil }
        let now = clock.monotonicNanoseconds
        let idle = UInt64(limits.checkpointIdleMilliseconds) * 1_000_000
        let longest = UInt64(limits.checkpointMilliseconds) * 1_000_000
        let idleEnd = max(lastSave, consumers.lastRecorded, lastCheckpoint) + idle
        let due = min(idleEnd, lastCheckpoint + longest)
        if now >= due || store.dirtyPages >= pace.pages(atMost: limits.checkpointPages) {
            limitCounters.record(
                now < due
                    ? .checkpointPages
                    : due == idleEnd ? .checkpointIdleMilliseconds : .checkpointMilliseconds)
            try checkpoint()
            return nil
        }
        return Int32((due - now) / 1_000_000 + 1)
    }

    /// The lag of the oldest reader of the store's file, in any process.
    var readerLag: CommitLog.Lag {
        commits.lag(behind: store.readers.oldestCommit, now: clock.monotonicNanoseconds)
    }

    /// Whether a commit is expected to succeed, or nothing needs one.
    var canCommit: Bool {
        let isShort = readOnlyState.isShort(.store) || readOnlyState.isShort(.map)
        return !isShort || store.appliedPosition == store.checkpointPosition
    }

    /// Commits the store for waiting reads if such a checkpoint is due.
    ///
    /// Returns the time when it will be due, in nanoseconds of the monotonic clock, or nil if no
    /// wait is needed. These checkpoints take at most a fifth of the thread's time from writers.
    func checkpointForReads() throws -> UInt64? {
        guard canCommit, store.appliedPosition > store.checkpointPosition else { return nil }
        let due =
            lastCheckpoint + max(DaemonLimits.readCheckpointNanoseconds, 4 * lastCheckpointLength)
        guard clock.monotonicNanoseconds >= due else { return due }
        counters.readCheckpoints += 1
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
        let pages = store.dirtyPages
        let start = clock.monotonicNanoseconds
        let first = journal.bounds.first
        // This sweep precedes the estimate of the commit's size. It is skipped while room is short.
        let refusal = try commits(after: { if !isReadOnly { try store.sweepSaves() } }) {
            // After a trim, blobs that only removed transactions referred to are unreachable.
            if first > sweptBelow { try store.sweepBlobs(below: first) }
            try idempotencyTable.write()
            try consumers.write()
            try change()
            try store.checkpoint()
        }
        guard refusal == nil else { return false }
        assert(first >= sweptBelow, "The journal's first position never decreases.")
        sweptBelow = first
        idempotencyTable.didCheckpoint()
        consumers.didCheckpoint()
        lastCheckpoint = clock.monotonicNanoseconds
        lastCheckpointLength = lastCheckpoint - start
        pace.record(pages: pages, nanoseconds: lastCheckpointLength)
        committedBytes += UInt64(pages * Store.pageBytes)
        commits.record(
            store.readers.lastCommit, bytes: UInt64(pages * Store.pageBytes), at: lastCheckpoint)
        counters.record(checkpointNanoseconds: lastCheckpointLength)
        counters.stalls.record(.checkpoint, from: start, to: lastCheckpoint)
        recordCheckpoint(nanoseconds: lastCheckpointLength, isForReads: isForReads)
        assert(
            store.checkpointPosition == store.appliedPosition, "Nothing is left to be committed.")
        checkInvariants()
        return true
    }

    /// Runs `body`, which commits the store, if there is room; otherwise returns the error for
    /// saves.
    private func commits(
        after preparation: () throws -> Void = {}, _ body: () throws -> Void
    ) throws -> TandemError? {
        assert(!hasPending, "Only transactions that the journal has are committed.")
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
    /// All of it was in the store before, or had room at the last start. If it has no room now, the
    /// error is fatal.
    private func replayFromCheckpoint() throws {
        try replay()
        for transaction in pending where transaction.position > store.appliedPosition {
            try store.apply(transaction)
        }
        assert(
            store.appliedPosition == plannedPosition,
            "A reverted store has caught up with the journal and the batch.")
    }

    /// Applies the transactions of the journal that the store lacks.
    private func replay() throws {
        guard store.appliedPosition < position else { return }
        let source = TransactionSource(journal)
        let from = store.appliedPosition + 1
        let (start, changes) = (clock.monotonicNanoseconds, store.appliedChanges)
        while store.appliedPosition < position {
            let transaction = try recorded(store.appliedPosition + 1, source)
            try store.apply(transaction)
            notifier?.replayed(transaction.position, of: position)
            if ring[transaction.position] == nil,
                ring.first.map({ $0 < transaction.position }) ?? true
            {
                keep(transaction)
            }
            guard store.isReplayFull else { continue }
            try commitReplayed()
        }
        let duration = clock.monotonicNanoseconds - start
        counters.replayNanoseconds += duration
        counters.replayedChanges += store.appliedChanges - changes
        log(.replayed, ["from": from, "to": position, "duration_us": duration / 1_000])
    }

    /// Returns a transaction from the journal, since transactions of the ring lack blob contents.
    ///
    /// A read error is fatal and no client's mistake, because the store lacks the transaction.
    private func recorded(
        _ position: UInt64, _ source: TransactionSource
    ) throws(DaemonError) -> EncodedTransaction {
        do throws(TandemError) {
            return try source.transaction(at: position, TransactionRing())
        } catch {
            throw DaemonError(.storage, error.message)
        }
    }

    /// Commits a part of the replay.
    ///
    /// If there is no room, everything stays in the open transaction. After a failed commit,
    /// ``replay()`` applies the lost part again.
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
}

/// Counters since the start of the daemon.
struct CommitCounters {
    /// The number of batches written, each with one flush.
    var batches: UInt64 { flushes.count }
    var transactions: UInt64 = 0
    var repeats: UInt64 = 0
    /// The number of checkpoints made for waiting reads.
    var readCheckpoints: UInt64 = 0
    var flushes = Histogram()
    var checkpoints = Histogram()
    var stalls = StallLog()
    /// The number of changes applied from the journal; `replayNanoseconds` holds the duration.
    var replayedChanges: UInt64 = 0
    var replayNanoseconds: UInt64 = 0

    mutating func record(batchOf count: Int, nanoseconds: UInt64) {
        transactions += UInt64(count)
        flushes.record(nanoseconds: nanoseconds)
    }

    mutating func record(checkpointNanoseconds nanoseconds: UInt64) {
        checkpoints.record(nanoseconds: nanoseconds)
    }
}

extension Committer {
    private func recordFlush(of saves: Int, nanoseconds: UInt64) {
        let isSlow = nanoseconds >= DaemonLimits.slowNanoseconds
        log(
            isSlow ? .slow : .flushed,
            [
                "cause": "flush", "position": position, "saves": saves,
                "duration_us": nanoseconds / 1_000,
            ])
    }

    /// Logs a checkpoint; checkpoints for reads are frequent, so only slow ones are logged.
    private func recordCheckpoint(nanoseconds: UInt64, isForReads: Bool) {
        let isSlow = nanoseconds >= DaemonLimits.slowNanoseconds
        guard isSlow || !isForReads else { return }
        log(
            isSlow ? .slow : .checkpoint,
            [
                "cause": "checkpoint", "position": store.checkpointPosition,
                "duration_us": nanoseconds / 1_000,
            ])
    }

    /// Makes a final checkpoint and closes journal and store.
    func close() throws {
        try flush()
        if !(try checkpoint()) {
            log(
                .checkpointMissed, ["position": position],
                "the journal has the transactions since the last checkpoint")
        }
        store.close()
        try journal.close()
    }
}
