import TandemModel
import TandemStore
import TandemWire

/// The transactions of batches: planned like saves, and remembered with how far each came.
extension Committer {
    /// What is known of a batch under its id.
    ///
    /// Throws `usage` for anything else under the same id, and `unknownOutcome` when its id may have been forgotten.
    func known(_ batch: Batch, by uid: UInt32) throws -> SavedOnce? {
        try recalling { try memory.progress(of: batch, by: uid) }
    }

    /// What is known of a batch insert under its id: how far it came, and what stands for its rows.
    ///
    /// Throws `usage` for a save under the same id, and `unknownOutcome` when rows of it may have been inserted that nobody knows of.
    func known(
        _ insert: BatchInsert, by uid: UInt32
    ) throws -> (progress: BatchProgress, hash: StableHash, position: UInt64)? {
        try recalling { try memory.progress(of: insert, by: uid) }
    }

    private func recalling<Known>(_ body: () throws -> Known) throws -> Known {
        do {
            return try reading(body)
        } catch let error as TandemError {
            if error.code == .unknownOutcome { limitCounts.note(.savesKept) }
            throw error
        }
    }

    /// Plans a part of a batch with at most so many changes, give or take those of one object.
    ///
    /// Throws ``TandemError`` for what can't be done.
    func plan(_ part: SaveRequest, atMost most: Int) throws -> SavePlanner.Plan {
        guard let model = store.model else {
            throw TandemError(.schemaMismatch, "the store has no model yet; apply one first")
        }
        try model.check(slotsOf: part.modelVersion, "the batch", "go on with it")
        var plan: SavePlanner.Plan?
        try refusing {
            plan = try reading {
                try SavePlanner.plan(
                    part, model: model, store: store, numbersBelow: leases.numbersBelow,
                    limits: limits, counts: limitCounts, most: most)
            }
        }
        guard let plan else { preconditionFailure("The part was planned or refused.") }
        return plan
    }

    /// Which inserts of a part can't be carried out, each judged behind those before it that can; none where it is not the fault of any alone.
    func refusals(of part: SaveRequest) throws -> [ObjectNumber: TandemError] {
        guard let model = store.model else { return [:] }
        var budget = RefusalBudget()
        return try reading {
            try SavePlanner.refusals(
                of: part, model: model, store: store, numbersBelow: leases.numbersBelow,
                limits: limits, counts: limitCounts, budget: &budget)
        }
    }

    /// Before which inserts a part has to be cut, so that none of its pieces has two new objects with the same unique values.
    func cuts(of part: SaveRequest) throws -> [Int] {
        guard let model = store.model else { return [] }
        return try reading {
            try SavePlanner.cuts(
                of: part, model: model, store: store, numbersBelow: leases.numbersBelow,
                limits: limits, counts: limitCounts)
        }
    }

    /// Applies a part of a batch as a transaction that says how far it came; returns its position.
    ///
    /// The last one may be without changes: that the end was reached has to stand in the journal.
    func append(
        _ plan: SavePlanner.Plan, _ part: SaveRequest, _ progress: BatchProgress,
        by principal: Principal
    ) throws -> UInt64 {
        try refusing {
            var transaction = Transaction(
                principal: principal, saveID: part.saveID, contentHash: part.contentHash,
                batch: progress, content: .objects(plan.changes), blobs: plan.blobs)
            try append(&transaction)
        }
        return plannedPosition
    }

    /// Remembers a batch without any effect, like a save without; durable with the flush.
    func end(_ batch: Batch, _ progress: BatchProgress, by uid: UInt32) throws -> UInt64 {
        try reserve(0)
        memory.note(progress, of: batch, by: uid, at: plannedPosition)
        return plannedPosition
    }
}
