import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

/// Owns journal and store and is the only one that writes to them; bound to the daemon's thread.
///
/// A batch goes: ``begin(_:_:)`` for each save (check, plan, apply to the open LMDB transaction, encode), then ``flush()``, which
/// writes and flushes the journal once. Nothing of a batch may be told to anyone before `flush` has returned (law 1).
///
/// State:
/// - `journal`, `store`: what is durable, and what is applied; the store is never behind the batch.
/// - `batch`, `pending`: the transactions of the batch that is being built, applied but not yet durable.
/// - `ring`: durable transactions only.
final class Committer {
    let journal: Journal
    let store: Store
    private(set) var ring: TransactionRing
    /// What of the journal a question about its history need not read.
    var historyIndex = HistoryIndex()
    private(set) var leases: LeaseBook
    var memory: SaveMemory
    /// What consumers acknowledged and no checkpoint has yet.
    var consumers: ConsumerBook
    private var batch = BatchBuilder(capacity: 1 << 16)
    private var pending: [EncodedTransaction] = []
    let clock: any Clock
    var limits: DaemonLimits
    let log: DaemonLog
    private let supervision: Supervision?
    let limitCounts = LimitCounts()
    var counters = CommitCounters()
    /// Whether saves are taken; only ``meets(_:_:bytes:)`` and ``ends(_:)`` change it.
    var ability = SaveAbility()
    /// When the last batch was durable, in nanoseconds of the monotonic clock.
    private(set) var lastSave: UInt64 = 0
    private var lastCheckpoint: UInt64 = 0
    private var lastCheckpointLength: UInt64 = 0
    /// About the bytes that all checkpoints since the start wrote.
    private(set) var committedBytes: UInt64 = 0
    private var commits = CommitLog()
    private var pace = CheckpointPace()
    /// With what the saves of the last batch that wrote nothing are refused, as there was no room to keep their answers.
    private(set) var unkeptRefusal: TandemError?
    /// Blobs that stood nowhere before this position are gone.
    private var sweptBelow: UInt64 = 0

    init(
        journal: Journal, store: Store, clock: any Clock, limits: DaemonLimits = DaemonLimits(),
        log: DaemonLog, supervision: Supervision? = nil
    ) throws {
        self.journal = journal
        self.store = store
        self.clock = clock
        self.limits = limits
        ring = TransactionRing(transactions: limits.ringTransactions, bytes: limits.ringBytes)
        self.log = log
        self.supervision = supervision
        leases = LeaseBook(store, atOnce: limits.leaseNumbers)
        memory = SaveMemory(store)
        consumers = ConsumerBook(store)
        try applyAgain()
        leases = LeaseBook(store, atOnce: limits.leaseNumbers)
        lastCheckpoint = clock.monotonicNanoseconds
        try renewFoldedTexts()
    }

    /// The last durable position.
    var position: UInt64 { journal.tail.last }

    /// The last position of the batch that is being built.
    var plannedPosition: UInt64 { position + UInt64(pending.count) }

    /// The bytes of the batch that is being built.
    var frameBytes: Int { batch.frameBytes }

    /// True while a batch is being built.
    var hasPending: Bool { !pending.isEmpty }

    /// True when the batch should be flushed before another save is taken.
    var isBatchFull: Bool { fullness != nil }

    /// What fills the batch, if it is full.
    private var fullness: Limit? {
        if pending.count + memory.unsettled >= limits.batchSaves { return .batchSaves }
        return batch.frameBytes >= limits.batchBytes ? .batchBytes : nil
    }

    // MARK: Saves

    /// What became of a save in the batch.
    enum Outcome {
        /// It is in the batch; the answer may be sent after the flush.
        case planned(Saved)
        /// It needs no transaction.
        case answered(Saved)
    }

    /// Checks, plans and applies a save.
    ///
    /// Throws ``TandemError`` for what the client did.
    func begin(_ request: SaveRequest, by principal: Principal) throws -> Outcome {
        let uid = principal.uid
        if let first = try remembered(request, uid) {
            if first.isRepeat { counters.repeats += 1 }
            return .answered(first)
        }
        guard let model = store.model else {
            throw TandemError(.schemaMismatch, "the store has no model yet; apply one first")
        }
        try model.check(slotsOf: request.modelVersion, "the save", "nothing was saved; save again")
        var outcome: Outcome?
        try refusing {
            let plan = try reading {
                try SavePlanner.plan(
                    request, model: model, store: store, numbersBelow: leases.numbersBelow,
                    limits: limits, counts: limitCounts)
            }
            guard !plan.changes.isEmpty else {
                // Remembering it takes room too.
                try reserve(0)
                let saved = Saved(
                    position: plannedPosition, wrote: false, inserted: plan.inserted)
                memory.note(saved, to: request, by: uid)
                outcome = .answered(saved)
                return
            }
            var transaction = Transaction(
                principal: principal, saveID: request.saveID, contentHash: request.contentHash,
                content: .objects(plan.changes), blobs: plan.blobs)
            if !plan.inserted.isEmpty { transaction = transaction.withOutcomes(plan.inserted) }
            try append(&transaction)
            outcome = .planned(
                Saved(position: plannedPosition, wrote: true, inserted: plan.inserted))
        }
        guard let outcome else { preconditionFailure("The save was planned or refused.") }
        return outcome
    }

    /// The first answer to a save that is repeated, if it is one.
    func remembered(_ request: SaveRequest, _ uid: UInt32) throws -> Saved? {
        do {
            return try memory.answer(to: request, by: uid, end: plannedPosition)
        } catch let error as TandemError {
            if error.code == .unknownOutcome { limitCounts.note(.savesKept) }
            throw error
        }
    }

    /// Does something that applies a transaction, with `readOnly` thrown when the store has no room for it.
    func refusing(_ body: () throws -> Void) throws {
        do {
            try revertingShortage(body)
        } catch let error as StoreError {
            throw meets(error) ?? error
        }
    }

    /// Installs a model as a transaction of its own, durable on return.
    ///
    /// `declared` is the hash of the model that an app brought, of which the installed one has more. Throws `readOnly` when there is
    /// no room to write the rows anew; then it never happened.
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

    /// Installs a whole model if the store does not have it, as ``install(_:declared:by:)`` does.
    ///
    /// Throws ``TandemError`` with the list of differences, too, when the store can't be changed to it by itself.
    func install(_ model: Model, by principal: Principal) throws {
        try flush()
        guard case .installs(let compiled) = try ModelChange.plan(whole: model, store: store)
        else { return }
        try install(compiled, by: principal)
    }

    /// Notes that apps are served that declare the model of a hash; where there is no room for that, it is not noted.
    func know(_ declared: StableHash) throws {
        guard !store.knownModels.contains(declared), !isReadOnly else { return }
        do {
            try revertingShortage { try store.knowModel(declared) }
        } catch let error as StoreError {
            guard error.isShortage else { throw error }
        }
    }

    /// Puts a model into the batch, where there is room for all that it rewrites.
    private func append(_ model: ModelInstallation, by principal: Principal) throws {
        try reserve(0)
        // What does not fit is given back, and has to be all that lies behind the checkpoint.
        if store.appliedPosition > store.checkpointPosition, !(try checkpoint()) {
            throw ability.refusal ?? TandemError(.readOnly, "the store takes no changes")
        }
        do {
            try refusing {
                try store.reserveRoomToRewrite()
                var transaction = Transaction(principal: principal, content: .model(model.bytes))
                try append(&transaction)
            }
        } catch let error as TandemError {
            if error.code == .readOnly { store.giveBackRoom() }
            throw error
        }
    }

    /// Puts a transaction into the batch, and its position and time into the transaction.
    func append(_ transaction: inout Transaction) throws {
        transaction.position = plannedPosition + 1
        transaction.time = clock.wallMicroseconds
        let encoded = transaction.encoded()
        let bytes = max(encoded.blobBytes, encoded.bytes.count - encoded.blobBytes)
        guard bytes <= limits.transactionBytes else {
            throw limitCounts.refusal(
                .transactionBytes, limits, "the save takes \(bytes) bytes, save in parts")
        }
        try reserve(encoded.bytes.count)
        try store.apply(transaction)
        batch.append(encoded.bytes)
        pending.append(encoded)
    }

    // MARK: Durability

    /// Makes the batch durable with one write and one flush; returns its transactions.
    ///
    /// Answers to saves that wrote nothing have no other place than the store: with any of them a checkpoint follows, and
    /// if there is no room for that they are to be refused (``unkeptRefusal``).
    /// Throws `readOnly` when the disk turned out to be full: the batch is forgotten, nothing of it happened. Any other failure is
    /// final for the process: what is applied is no longer what is in the journal.
    @discardableResult
    func flush() throws -> [EncodedTransaction] {
        if let limit = fullness { limitCounts.note(limit) }
        let done = try write()
        unkeptRefusal = nil
        if memory.unsettled > 0, !(try checkpoint()) {
            memory.forget()
            unkeptRefusal = ability.refusal
        }
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
        guard case .committed = outcome else {
            throw DaemonError(.storage, "the journal did not take the batch: \(outcome)")
        }
        batch.removeAll()
        let done = pending
        pending.removeAll(keepingCapacity: true)
        for transaction in done { keep(transaction) }
        lastSave = clock.monotonicNanoseconds
        counters.note(batchOf: done.count, nanoseconds: lastSave - start)
        counters.stalls.note(.flush, from: start, to: lastSave)
        noteFlush(of: done.count, nanoseconds: lastSave - start)
        return done
    }

    /// Records how long work on a request occupied the thread, by the engine's clock.
    func note(request start: UInt64, until end: UInt64) {
        counters.stalls.note(.request, from: start, to: end)
    }

    /// Keeps a durable transaction for the sessions at the tail.
    private func keep(_ transaction: EncodedTransaction) {
        if let limit = ring.append(transaction) { limitCounts.note(limit) }
        historyIndex.note(transaction)
    }

    /// Takes back a batch that the journal had no room for.
    private func forgetBatch(because error: JournalError) throws -> TandemError {
        let refusal = meets(.journal, error.description, bytes: batch.frameBytes)
        batch.removeAll()
        pending.removeAll()
        memory.forget()
        try store.revert()
        try applyAgain()
        return refusal
    }

    /// Commits the store if it is time to.
    ///
    /// Returns the milliseconds until it may be due, nil for never.
    func checkpointIfDue() throws -> Int32? {
        guard store.appliedPosition > store.checkpointPosition || consumers.isUnsettled else {
            return nil
        }
        // Looked at again in its own time.
        guard !ability.isShort(.store), !ability.isShort(.map) else { return nil }
        let now = clock.monotonicNanoseconds
        let idle = UInt64(limits.checkpointIdleMilliseconds) * 1_000_000
        let longest = UInt64(limits.checkpointMilliseconds) * 1_000_000
        let idleEnd = max(lastSave, consumers.lastNoted, lastCheckpoint) + idle
        let due = min(idleEnd, lastCheckpoint + longest)
        if now >= due || store.dirtyPages >= pace.pages(atMost: limits.checkpointPages) {
            limitCounts.note(
                now < due
                    ? .checkpointPages
                    : due == idleEnd ? .checkpointIdleMilliseconds : .checkpointMilliseconds)
            try checkpoint()
            return nil
        }
        return Int32((due - now) / 1_000_000 + 1)
    }

    /// How far the oldest reader of the store's file lags, in any process.
    var readerLag: CommitLog.Lag {
        commits.lag(behind: store.readers.oldestCommit, now: clock.monotonicNanoseconds)
    }

    /// Whether what is applied can be committed, as far as is known, if it is not already.
    var canCommit: Bool {
        let isShort = ability.isShort(.store) || ability.isShort(.map)
        return !isShort || store.appliedPosition == store.checkpointPosition
    }

    /// Commits the store for reads that wait for it, if it is time to.
    ///
    /// Returns when it may be, by the monotonic clock; nil if nothing has to be waited for. Savers lose at most a fifth of the thread's time to it.
    func checkpointForReads() throws -> UInt64? {
        guard canCommit, store.appliedPosition > store.checkpointPosition else { return nil }
        let due =
            lastCheckpoint + max(DaemonLimits.readCheckpointNanoseconds, 4 * lastCheckpointLength)
        guard clock.monotonicNanoseconds >= due else { return due }
        counters.readCheckpoints += 1
        try checkpoint(isForReads: true)
        return nil
    }

    /// Commits the store; the journal is made durable up to there first, if it is not already.
    ///
    /// False when there was no room for it: the daemon is read-only then, what was not committed is in the journal, and
    /// `change`, which belongs to the commit, was not made.
    @discardableResult
    func checkpoint(
        isForReads: Bool = false, with change: () throws -> Void = {}
    ) throws -> Bool {
        let pages = store.dirtyPages
        let start = clock.monotonicNanoseconds
        let first = journal.bounds.first
        // Before the room that the commit needs is estimated; where room is short it can wait.
        let refusal = try commits(after: { if !isReadOnly { try store.sweepSaves() } }) {
            // Contents that nobody can meet any more, after the journal was trimmed.
            if first > sweptBelow { try store.sweepBlobs(below: first) }
            try memory.write()
            try consumers.write()
            try change()
            try store.checkpoint()
        }
        guard refusal == nil else { return false }
        sweptBelow = first
        memory.settle()
        consumers.settle()
        lastCheckpoint = clock.monotonicNanoseconds
        lastCheckpointLength = lastCheckpoint - start
        pace.note(pages: pages, nanoseconds: lastCheckpointLength)
        committedBytes += UInt64(pages * Store.pageBytes)
        commits.note(
            store.readers.lastCommit, bytes: UInt64(pages * Store.pageBytes), at: lastCheckpoint)
        counters.note(checkpointNanoseconds: lastCheckpointLength)
        counters.stalls.note(.checkpoint, from: start, to: lastCheckpoint)
        noteCheckpoint(nanoseconds: lastCheckpointLength, isForReads: isForReads)
        return true
    }

    /// Does something that commits the store, where there is room for it; returns why not, if there is none.
    private func commits(
        after preparation: () throws -> Void = {}, _ body: () throws -> Void
    ) throws -> TandemError? {
        try journal.sync()
        do {
            try revertingShortage(preparation)
            try store.reserveRoom()
            try revertingShortage(body)
        } catch let error as StoreError {
            guard let refusal = meets(error) else { throw error }
            return refusal
        }
        ends(.store)
        ends(.map)
        return nil
    }

    /// Leases numbers to a client.
    ///
    /// Throws `readOnly` when more have to be reserved and there is no room to note that.
    func lease(_ count: UInt32) throws -> Lease {
        let epoch = store.identity.epoch
        // Reserving numbers commits the store.
        if leases.isShort(of: count) {
            if let refusal = ability.refusal { throw refusal }
            if let refusal = try commits({ try leases.reserve(store) }) { throw refusal }
        }
        if count > limits.leaseNumbers { limitCounts.note(.leaseNumbers) }
        let lease = leases.lease(count)
        return Lease(first: lease.lowerBound, count: UInt32(lease.count), epoch: epoch)
    }

    // MARK: Recovery

    /// Does something; if the store has no room for it, everything else is applied again and the ``StoreError`` is thrown.
    func revertingShortage<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            let error = store.meaning(of: error)
            guard error.isShortage else { throw error }
            try store.revert()
            try applyAgain()
            throw error
        }
    }

    /// Applies what the journal has beyond the store's checkpoint, and the batch, after the store went back to it.
    ///
    /// All of it was in the store before or had room at the last start; if it has none any more, the daemon can't go on.
    private func applyAgain() throws {
        try replay()
        for transaction in pending where transaction.position > store.appliedPosition {
            try store.apply(transaction)
        }
    }

    /// Applies what the journal has beyond what the store has.
    private func replay() throws {
        guard store.appliedPosition < position else { return }
        let source = TransactionSource(journal)
        let from = store.appliedPosition + 1
        let (start, changes) = (clock.monotonicNanoseconds, store.appliedChanges)
        while store.appliedPosition < position {
            let transaction = try recorded(store.appliedPosition + 1, source)
            try store.apply(transaction)
            supervision?.replayed(transaction.position, of: position)
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

    /// A transaction as the journal has it: the ring has no contents of blobs.
    ///
    /// That it can't be read is final and no client's mistake, as the store is behind the journal here.
    private func recorded(
        _ position: UInt64, _ source: TransactionSource
    ) throws(DaemonError) -> EncodedTransaction {
        do throws(TandemError) {
            return try source.transaction(at: position, TransactionRing())
        } catch {
            throw DaemonError(.storage, error.message)
        }
    }

    /// Without room everything stays in the open transaction; a commit that failed is applied once more by ``replay()``.
    private func commitReplayed() throws {
        guard !ability.isShort(.store) else { return }
        try journal.sync()
        do {
            try store.reserveRoom()
            try store.checkpoint()
        } catch {
            guard error.code == .noSpace else { throw error }
            meets(error)
        }
    }
}

/// What the committer counted since the start.
struct CommitCounters {
    /// Batches written, with a flush each.
    var batches: UInt64 { flushes.count }
    var transactions: UInt64 = 0
    var repeats: UInt64 = 0
    /// Checkpoints that were made because reads waited for them.
    var readCheckpoints: UInt64 = 0
    var flushes = Histogram()
    var checkpoints = Histogram()
    var stalls = StallLog()
    /// Changes that were applied from the journal at the start, and how long that took.
    var replayedChanges: UInt64 = 0
    var replayNanoseconds: UInt64 = 0

    mutating func note(batchOf count: Int, nanoseconds: UInt64) {
        transactions += UInt64(count)
        flushes.note(nanoseconds: nanoseconds)
    }

    mutating func note(checkpointNanoseconds nanoseconds: UInt64) {
        checkpoints.note(nanoseconds: nanoseconds)
    }
}

extension Committer {
    private func noteFlush(of saves: Int, nanoseconds: UInt64) {
        let isSlow = nanoseconds >= DaemonLimits.slowNanoseconds
        log(
            isSlow ? .slow : .flushed,
            [
                "cause": "flush", "position": position, "saves": saves,
                "duration_us": nanoseconds / 1_000,
            ])
    }

    /// Those for reads are many: they are counted, and logged if they are slow.
    private func noteCheckpoint(nanoseconds: UInt64, isForReads: Bool) {
        let isSlow = nanoseconds >= DaemonLimits.slowNanoseconds
        guard isSlow || !isForReads else { return }
        log(
            isSlow ? .slow : .checkpoint,
            [
                "cause": "checkpoint", "position": store.checkpointPosition,
                "duration_us": nanoseconds / 1_000,
            ])
    }

    /// Makes a last checkpoint and closes journal and store.
    func close() throws {
        try flush()
        if !(try checkpoint()) {
            log(.checkpointMissed, ["position": position], "the journal has what is missing")
        }
        store.close()
        try journal.close()
    }
}
