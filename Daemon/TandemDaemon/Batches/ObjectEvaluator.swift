import TandemModel
import TandemQuery
import TandemStore

/// The evaluation of a batch's predicate on the daemon's thread, with a bound on its cost.
///
/// One evaluator does at most the work of one slice (``DaemonLimits/sliceReads``). A predicate over
/// long texts may need more than that for a single object.
struct ObjectEvaluator {
    private let predicate: BatchPredicate
    private let committer: Committer
    private let budget: ReadBudget

    init(_ predicate: BatchPredicate, _ committer: Committer) {
        (self.predicate, self.committer) = (predicate, committer)
        budget = committer.store.readBudget(
            work: committer.limits.sliceReads, weight: predicate.weight)
    }

    /// Returns whether an object matches; nil if the budget is used up, so that a reader has to
    /// evaluate the object.
    func matches(_ stored: StoredObject) throws -> Bool? {
        budget.beginObject()
        guard isCharged(1 + stored.row.bytes.count / 64) else { return nil }
        let reader = StoreReader(committer.store, budget: budget)
        if let matches = predicate.request.matches(stored.object, stored.row, reader) {
            return matches
        }
        guard let refusal = budget.interruption else {
            throw TandemError(
                .storage,
                "the store could not be read while an object was evaluated; run `tandem check`")
        }
        if refusal.code == .interrupted { return nil }
        return try StoreError.mappingReadErrors(committer) { throw refusal }
    }

    private func isCharged(_ count: Int) -> Bool {
        // The only possible error is an exhausted budget.
        (try? budget.charge(count, heldBytes: 0)) != nil
    }
}

/// The compiled request of a batch, and the cost of its predicate.
struct BatchPredicate {
    let request: CompiledRequest
    /// The work of evaluating an object, relative to the comparison of one number.
    let weight: Int

    init(_ request: FetchDescriptor, in model: CompiledModel) throws(TandemError) {
        self.request = try CompiledRequest(request, in: model)
        weight = PredicateSize.weight(of: [request.predicate].compactMap(\.self))
    }

    /// Whether the predicate reads derived values of the objects themselves.
    var readsDerived: Bool {
        let derivations = request.entity.derivations
        guard !derivations.isEmpty else { return false }
        return request.paths.contains { path in
            path.hops.isEmpty && derivations.contains { $0.slot == path.final?.slot }
        }
    }
}
