import TandemModel
import TandemStore
import TandemWire

/// The search for the inserts that prevent a request of many inserts from being carried out.
extension SavePlanner {
    /// Returns the inserts that can't be carried out, with the reasons.
    ///
    /// Each insert is evaluated as if it followed only those inserts before it that can be carried
    /// out. Every returned insert is impossible, but some impossible inserts are omitted in these
    /// cases:
    /// - The policy lets existing objects replace new ones. The outcome then depends on all inserts
    ///   together, so none is evaluated.
    /// - Only an object at the other end of a link breaks a rule.
    /// - The search takes more than `budget`, or the errors do not fit an answer.
    ///
    /// The store is only read. Cost: that of planning the request, in each round.
    static func refusals(
        of request: SaveRequest, model: CompiledModel, store: Store, numbersBelow: ObjectNumber,
        limits: DaemonLimits, counts: LimitCounters, budget: inout RejectionBudget
    ) throws -> [ObjectNumber: TandemError] {
        guard request.policy == .error else { return [:] }
        var refusals = RejectedInserts(request, model, store)
        var request = request
        while !refusals.isFull, budget.begin(request) {
            let known = refusals.errors.count
            var planner = SavePlanner(request, model, store, numbersBelow, limits, counts)
            try planner.findRejected(&refusals)
            if refusals.errors.count == known { break }
            // Without these inserts, the others may have a different result, because the unique
            // values of these inserts become free.
            request.operations.removeAll { refusals.errors[$0.object.number] != nil }
        }
        return refusals.errors
    }

    /// Finds inserts that break one kind of rule: the first kind that any insert breaks.
    ///
    /// Uniqueness is checked last, because only valid inserts can own unique values.
    private mutating func findRejected(_ refusals: inout RejectedInserts) throws {
        let known = refusals.errors.count
        try findUnworkable(&refusals)
        guard refusals.errors.count == known else { return }
        let objects = graph.inOrder
        try DerivedAttributes(graph: graph).compute(objects)
        let validator = SaveValidator(graph: graph, model: model, limits: limits, counts: counts)
        for working in inserted where !refusals.isDecided(working.object) {
            guard let error = try validator.refusal(of: working) else { continue }
            try refusals.add(error, for: working.object)
        }
        guard refusals.errors.count == known else { return }
        try UniquenessCheck(graph: graph, model: model, store: store, policy: request.policy)
            .findRefusals(inserted, &refusals)
    }

    private var inserted: [PlanningObject] {
        request.operations.compactMap { graph.objects[$0.object.number] }
    }

    /// Finds the inserts that can't even be planned.
    ///
    /// The object number is unavailable, a value has the wrong type, or a link has no target. Such
    /// an insert may leave incomplete edits in the graph, which are harmless, because no
    /// transaction is planned from this graph.
    private mutating func findUnworkable(_ refusals: inout RejectedInserts) throws {
        for operation in request.operations {
            do {
                try insert(operation.object)
            } catch let error as TandemError {
                try refusals.add(error, for: operation.object)
            }
        }
        let mapping = ReferenceMapping([])
        for operation in request.operations where !refusals.isDecided(operation.object) {
            do {
                try perform(operation, mapping)
            } catch let error as TandemError {
                try refusals.add(error, for: operation.object)
            }
        }
    }

    /// Returns the indexes of inserts before which the request must be split.
    ///
    /// After the split, no chunk has two new objects with the same unique values. So when the
    /// second object is inserted, the first one exists, and can replace it if the policy allows
    /// that. Throws the error of any insert that fails on its own. Cost: that of planning the
    /// request.
    static func cuts(
        of request: SaveRequest, model: CompiledModel, store: Store, numbersBelow: ObjectNumber,
        limits: DaemonLimits, counts: LimitCounters
    ) throws -> [Int] {
        var planner = SavePlanner(request, model, store, numbersBelow, limits, counts)
        try planner.run(replacing: [])
        try DerivedAttributes(graph: planner.graph).compute(planner.graph.inOrder)
        return try UniquenessCheck(
            graph: planner.graph, model: model, store: store, policy: request.policy
        ).cuts(planner.inserted)
    }
}
