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
    private(set) var ring = TransactionRing()
    private(set) var leases: LeaseBook
    private var memory: SaveMemory
    private var batch = BatchBuilder(capacity: 1 << 16)
    private var pending: [EncodedTransaction] = []
    private let clock: any Clock
    private let log: @Sendable (LogLevel, String) -> Void
    private(set) var counters = CommitCounters()
    /// True while the journal has no room for another save.
    private(set) var isReadOnly = false
    private var readOnlySince: UInt64 = 0
    private var lastSave: UInt64 = 0
    private var lastCheckpoint: UInt64 = 0
    /// Blobs that stood nowhere before this position are gone.
    private var sweptBelow: UInt64 = 0

    init(
        journal: Journal, store: Store, clock: any Clock,
        log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws {
        self.journal = journal
        self.store = store
        self.clock = clock
        self.log = log
        leases = LeaseBook(store)
        memory = SaveMemory(store)
        try growing { try replay() }
        leases = LeaseBook(store)
        lastCheckpoint = clock.monotonicNanoseconds
    }

    /// The last durable position.
    var position: UInt64 { journal.bounds.last }

    /// The last position of the batch that is being built.
    private var plannedPosition: UInt64 { position + UInt64(pending.count) }

    /// True when the batch should be flushed before another save is taken.
    var isBatchFull: Bool {
        pending.count + memory.unsettled >= DaemonLimits.batchSaves
            || batch.frameBytes >= DaemonLimits.batchBytes
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
        if let first = try memory.answer(to: request, by: uid, end: plannedPosition) {
            if first.isRepeat { counters.repeats += 1 }
            return .answered(first)
        }
        guard let model = store.model else {
            throw TandemError(.schemaMismatch, "the store has no model yet; apply one first")
        }
        return try growing { () throws -> Outcome in
            let plan = try SavePlanner.plan(
                request, model: model, store: store, numbersBelow: leases.numbersBelow)
            guard !plan.changes.isEmpty else {
                // Remembering it takes room too.
                try reserve(0)
                let saved = Saved(
                    position: plannedPosition, wrote: false, inserted: plan.inserted)
                memory.note(saved, to: request, by: uid)
                return .answered(saved)
            }
            let transaction = Transaction(
                principal: principal, saveID: request.saveID, contentHash: request.contentHash,
                content: .objects(plan.changes), blobs: plan.blobs)
            try append(transaction.withOutcomes(plan.inserted))
            return .planned(
                Saved(position: plannedPosition, wrote: true, inserted: plan.inserted))
        }
    }

    /// Installs a model as a transaction of its own, durable on return.
    ///
    /// Throws ``TandemError`` with the list of differences when the store can't be migrated to it.
    func install(_ model: Model, by principal: Principal) throws {
        try flush()
        let compiled = try ModelChange.plan(model, store: store)
        guard let compiled else { return }
        var writer = ByteWriter()
        compiled.encode(into: &writer)
        try growing {
            try append(Transaction(principal: principal, content: .model(writer.bytes)))
        }
        try flush()
        try checkpoint()
        log(.notice, "installed model \(compiled.hash) as version \(compiled.version)")
    }

    private func append(_ transaction: Transaction) throws {
        var transaction = transaction
        transaction.position = plannedPosition + 1
        transaction.time = clock.wallMicroseconds
        let encoded = EncodedTransaction(transaction)
        let bytes = max(encoded.blobBytes, encoded.bytes.count - encoded.blobBytes)
        guard bytes <= DaemonLimits.transactionBytes else {
            throw TandemError(
                .limitExceeded,
                "the save takes \(bytes) bytes; a transaction has at "
                    + "most \(DaemonLimits.transactionBytes): save in parts")
        }
        try reserve(encoded.bytes.count)
        try store.apply(transaction)
        batch.append(encoded.bytes)
        pending.append(encoded)
    }

    /// Makes sure that the journal has room before anything is applied; without it saves are refused, reads go on.
    private func reserve(_ bytes: Int) throws {
        let now = clock.monotonicNanoseconds
        guard !isReadOnly || now > readOnlySince + DaemonLimits.spaceRetryNanoseconds else {
            throw Committer.noSpace
        }
        do {
            try journal.reserve(bytes: batch.frameBytes + bytes + 64)
            counters.stalls.note(.segment, from: now, to: clock.monotonicNanoseconds)
            if isReadOnly { log(.notice, "there is room for the journal again; saves are taken") }
            isReadOnly = false
        } catch {
            guard error.code == .noSpace else { throw error }
            if !isReadOnly { log(.error, "read-only: \(error)") }
            isReadOnly = true
            readOnlySince = now
            throw Committer.noSpace
        }
    }

    private static let noSpace = TandemError(
        .readOnly, "the disk of the journal is full; saves are refused until there is room again")

    // MARK: Durability

    /// Makes the batch durable with one write and one flush; returns its transactions.
    ///
    /// Answers to saves that wrote nothing have no other place than the store: with any of them a checkpoint follows.
    /// A failure is final for the process: what is applied is no longer what is in the journal.
    @discardableResult
    func flush() throws -> [EncodedTransaction] {
        let done = try write()
        if memory.unsettled > 0 { try checkpoint() }
        return done
    }

    private func write() throws -> [EncodedTransaction] {
        guard !pending.isEmpty else { return [] }
        let start = clock.monotonicNanoseconds
        let outcome = try journal.append(expected: position, batch: &batch)
        guard case .committed = outcome else {
            throw DaemonError(.storage, "the journal did not take the batch: \(outcome)")
        }
        batch.removeAll()
        let done = pending
        pending.removeAll(keepingCapacity: true)
        for transaction in done { ring.append(transaction) }
        lastSave = clock.monotonicNanoseconds
        counters.note(batchOf: done.count, nanoseconds: lastSave - start)
        counters.stalls.note(.flush, from: start, to: lastSave)
        return done
    }

    /// Commits the store if it is time to.
    ///
    /// Returns the milliseconds until it may be due, nil for never.
    func checkpointIfDue() throws -> Int32? {
        guard store.appliedPosition > store.checkpointPosition else { return nil }
        let now = clock.monotonicNanoseconds
        let idle = DaemonLimits.checkpointIdleMilliseconds * 1_000_000
        let longest = DaemonLimits.checkpointMilliseconds * 1_000_000
        let due = min(max(lastSave, lastCheckpoint) + idle, lastCheckpoint + longest)
        if now >= due || store.uncommittedChanges >= DaemonLimits.checkpointChanges {
            try checkpoint()
            return nil
        }
        return Int32((due - now) / 1_000_000 + 1)
    }

    /// Commits the store; the journal is made durable up to there first, if it is not already.
    func checkpoint() throws {
        let start = clock.monotonicNanoseconds
        try journal.sync()
        try growing {
            try sweepBlobs()
            try memory.write()
            try store.checkpoint()
        }
        memory.settle()
        lastCheckpoint = clock.monotonicNanoseconds
        counters.note(checkpointNanoseconds: lastCheckpoint - start)
        counters.stalls.note(.checkpoint, from: start, to: lastCheckpoint)
    }

    /// Removes contents that nobody can meet any more, after the journal was trimmed.
    private func sweepBlobs() throws {
        guard journal.bounds.first > sweptBelow else { return }
        try store.sweepBlobs(below: journal.bounds.first)
        sweptBelow = journal.bounds.first
    }

    /// Leases numbers to a client.
    func lease(_ count: UInt32) throws -> Lease {
        let epoch = store.identity.epoch
        // Reserving numbers commits the store.
        if leases.isShort(of: count) { try journal.sync() }
        let first = try growing { try leases.lease(count, store) }
        return Lease(first: first, count: min(count, DaemonLimits.leaseNumbers), epoch: epoch)
    }

    // MARK: Recovery

    /// Does something; as often as the map is full it is grown, everything is applied again, and it is done once more.
    private func growing<Result>(_ body: () throws -> Result) throws -> Result {
        var isReverted = false
        while true {
            do {
                if isReverted {
                    try replay()
                    for transaction in pending { try store.apply(transaction) }
                    isReverted = false
                }
                return try body()
            } catch let error as StoreError where error.code == .mapFull {
                log(.notice, "the store's map is full; growing it")
                try store.grow()
                isReverted = true
            }
        }
    }

    /// Applies what the journal has beyond the store's checkpoint.
    private func replay() throws {
        guard store.appliedPosition < position else { return }
        let source = TransactionSource(journal)
        let from = store.appliedPosition + 1
        let (start, changes) = (clock.monotonicNanoseconds, store.appliedChanges)
        for position in from...self.position {
            let transaction = try source.transaction(at: position, ring)
            try store.apply(transaction)
            if ring[position] == nil, ring.first.map({ $0 < position }) ?? true {
                ring.append(transaction)
            }
            guard store.uncommittedChanges >= DaemonLimits.checkpointChanges else { continue }
            try journal.sync()
            try store.checkpoint()
        }
        counters.replayNanoseconds += clock.monotonicNanoseconds - start
        counters.replayedChanges += store.appliedChanges - changes
        log(.info, "applied transactions \(from) to \(position) from the journal")
    }
}

/// What the committer counted since the start.
struct CommitCounters {
    var batches: UInt64 = 0
    var transactions: UInt64 = 0
    var repeats: UInt64 = 0
    var checkpoints: UInt64 = 0
    var flushNanoseconds: UInt64 = 0
    var longestFlush: UInt64 = 0
    var longestCheckpoint: UInt64 = 0
    var stalls = StallLog()
    /// Changes that were applied from the journal at the start, and how long that took.
    var replayedChanges: UInt64 = 0
    var replayNanoseconds: UInt64 = 0

    mutating func note(batchOf count: Int, nanoseconds: UInt64) {
        batches += 1
        transactions += UInt64(count)
        flushNanoseconds += nanoseconds
        longestFlush = max(longestFlush, nanoseconds)
    }

    mutating func note(checkpointNanoseconds nanoseconds: UInt64) {
        checkpoints += 1
        longestCheckpoint = max(longestCheckpoint, nanoseconds)
    }
}

extension Committer {
    /// Makes a last checkpoint and closes journal and store.
    func close() throws {
        try flush()
        try checkpoint()
        store.close()
        try journal.close()
    }
}
