import TandemModel
import TandemStore
import TandemWire

/// The transactions of batches: planned like saves, and remembered like them.
extension Committer {
    /// What became of a part of a batch.
    enum Part {
        /// It is the transaction at this position of the batch that is being built.
        case planned(UInt64)
        /// It has no effect.
        case unchanged
        /// It would be a larger transaction than one of a batch may be; nothing was done.
        case tooLarge
    }

    /// What is remembered of a batch that is repeated.
    struct Known {
        /// Where its last transaction is; nil without one.
        var position: UInt64?
        /// How many objects were done.
        var done: UInt64 = 0
        /// Where its transactions are.
        var positions: Set<UInt64> = []
        /// Whether it had come to its end.
        var hasEnded = false
    }

    /// What is known of a batch under its id.
    ///
    /// Throws `usage` for another batch under the same id, and `unknownOutcome` when its id may have been forgotten.
    func known(_ batch: Batch, by uid: UInt32) throws -> Known {
        var known = Known()
        if let end = try remembered(SaveRequest(endOf: batch), uid) {
            known.position = end.position
            known.hasEnded = true
        }
        let saves = try readable { () throws(StoreError) in
            try store.saves(by: uid, idPrefix: batch.batchID, andBytes: 8)
        }
        for save in saves {
            let done = Batch.done(save.id, of: batch.batchID) ?? 0
            known.done = max(known.done, done)
            known.positions.insert(save.position)
            known.position = max(known.position ?? 0, save.position)
        }
        return known
    }

    /// Plans and applies a part of a batch, unless it has more than `most` changes.
    ///
    /// Throws ``TandemError`` for what can't be done.
    func begin(_ part: SaveRequest, by principal: Principal, atMost most: Int) throws -> Part {
        guard let model = store.model else { return .unchanged }
        try model.check(slotsOf: part.modelVersion, "the batch", "go on with a new batch")
        var outcome = Part.unchanged
        try refusing {
            let plan = try SavePlanner.plan(
                part, model: model, store: store, numbersBelow: leases.numbersBelow,
                limits: limits, counts: limitCounts, most: most)
            guard !plan.changes.isEmpty else { return }
            guard plan.changes.count <= most else { return outcome = .tooLarge }
            var transaction = Transaction(
                principal: principal, saveID: part.saveID, contentHash: part.contentHash,
                content: .objects(plan.changes), blobs: plan.blobs)
            try append(&transaction)
            outcome = .planned(transaction.position)
        }
        return outcome
    }

    /// Remembers that a batch has come to its end, so that a repeat gets the same answer; durable with the flush.
    func end(_ batch: Batch, at position: UInt64?, done: UInt64, by uid: UInt32) throws -> UInt64 {
        try reserve(0)
        let saved = Saved(position: position ?? plannedPosition, wrote: false)
        let end = SaveRequest(endOf: batch)
        memory.note(saved, to: end, by: uid)
        var count = end
        count.saveID = Batch.saveID(of: batch.batchID, done: done)
        // What was done last has its place under this id already, if it wrote anything.
        if try store.save(by: uid, id: count.saveID) == nil {
            memory.note(saved, to: count, by: uid)
        }
        return saved.position
    }
}

extension SaveRequest {
    /// The save that stands for the end of a batch.
    fileprivate init(endOf batch: Batch) {
        self.init(
            saveID: batch.batchID, contentHash: batch.contentHash,
            modelVersion: batch.modelVersion, firstSentAt: batch.firstSentAt)
    }
}
