import TandemModel
import TandemStore
import TandemWire

/// Plans the transactions of batches like saves, and records them with the batch's progress.
struct BatchPlanner {
    private let committer: Committer

    init(_ committer: Committer) { self.committer = committer }

    private var store: Store { committer.store }

    /// Returns the record of a batch, or nil if the batch is new.
    ///
    /// Throws `usage` if the batch's id was used for anything else, and `unknownOutcome` if the
    /// record may have been removed.
    func known(_ batch: Batch, by uid: UInt32) throws -> IdempotencyRecord? {
        try recalling { try committer.idempotencyTable.progress(of: batch, by: uid) }
    }

    /// Returns the progress of a batch insert with the hash of its rows, or nil if the batch is
    /// new.
    ///
    /// Throws `usage` if its id was used for a save, and `unknownOutcome` if rows may have been
    /// inserted whose record was removed.
    func known(
        _ insert: BatchInsert, by uid: UInt32
    ) throws -> (progress: BatchProgress, hash: StableHash, position: UInt64)? {
        try recalling { try committer.idempotencyTable.progress(of: insert, by: uid) }
    }

    private func recalling<Known>(_ body: () throws -> Known) throws -> Known {
        do {
            return try StoreError.mappingDamage(committer, body)
        } catch let error as TandemError {
            if error.code == .unknownOutcome { committer.limitCounters.record(.savesKept) }
            throw error
        }
    }

    /// Plans a transaction of a batch.
    ///
    /// Throws ``TandemError`` for errors of the client, for example `limitExceeded` if deletions
    /// cascade to more than `most` objects.
    func plan(_ part: SaveRequest, atMost most: Int) throws -> SavePlanner.Plan {
        guard let model = store.model else {
            throw TandemError.noModel()
        }
        try model.check(slotsOf: part.modelVersion, "the batch", "continue it")
        var plan: SavePlanner.Plan?
        try committer.mappingShortage {
            plan = try StoreError.mappingDamage(committer) {
                try SavePlanner.plan(
                    part, model: model, store: store, numbersBelow: committer.leases.numbersBelow,
                    limits: committer.limits, counts: committer.limitCounters, most: most)
            }
        }
        guard let plan else { preconditionFailure("The chunk was planned or rejected.") }
        return plan
    }

    /// Returns the inserts of a chunk that can't be carried out, with the reasons.
    ///
    /// Each insert is evaluated as if it followed only those before it that can be carried out. The
    /// result is empty if no single insert is at fault.
    func refusals(of part: SaveRequest) throws -> [ObjectNumber: TandemError] {
        guard let model = store.model else { return [:] }
        var budget = RejectionBudget()
        return try StoreError.mappingDamage(committer) {
            try SavePlanner.refusals(
                of: part, model: model, store: store, numbersBelow: committer.leases.numbersBelow,
                limits: committer.limits, counts: committer.limitCounters, budget: &budget)
        }
    }

    /// Returns the indexes before which a chunk must be split.
    ///
    /// After the split, no piece has two new objects with the same unique values.
    func cuts(of part: SaveRequest) throws -> [Int] {
        guard let model = store.model else { return [] }
        return try StoreError.mappingDamage(committer) {
            try SavePlanner.cuts(
                of: part, model: model, store: store, numbersBelow: committer.leases.numbersBelow,
                limits: committer.limits, counts: committer.limitCounters)
        }
    }

    /// Applies a transaction of a batch with the batch's progress; returns its position.
    ///
    /// The last transaction may have no changes, because the journal must record the end of the
    /// batch.
    func append(
        _ plan: SavePlanner.Plan, _ part: SaveRequest, _ progress: BatchProgress,
        by principal: Principal
    ) throws -> UInt64 {
        try committer.mappingShortage {
            var transaction = Transaction(
                principal: principal, saveID: part.saveID, contentHash: part.contentHash,
                batch: progress, content: .objects(plan.changes), blobs: plan.blobs)
            try committer.append(&transaction)
        }
        return committer.plannedPosition
    }
}
