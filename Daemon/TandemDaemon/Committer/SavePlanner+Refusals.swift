import TandemModel
import TandemStore
import TandemWire

/// Which of many inserts stand in the way when they can't be carried out together.
extension SavePlanner {
    /// The inserts that can't be carried out, with why: each as if it came behind those before it that can, in the order of the request.
    ///
    /// A request whose policy lets objects become one is not judged: there it follows from all inserts together what each becomes. Nor is what
    /// only the objects at the other ends of links are against. Where that takes more than `budget`, or there is more to say than an answer has room
    /// for, some are missing; none is there that can be carried out. The store is only read. Cost: that of planning, for each round.
    static func refusals(
        of request: SaveRequest, model: CompiledModel, store: Store, numbersBelow: ObjectNumber,
        limits: DaemonLimits, counts: LimitCounts, budget: inout RefusalBudget
    ) throws -> [ObjectNumber: TandemError] {
        guard request.policy == .error else { return [:] }
        var refusals = Refusals(request, model, store)
        var request = request
        while !refusals.isFull, budget.begin(request) {
            let known = refusals.errors.count
            var planner = SavePlanner(request, model, store, numbersBelow, limits, counts)
            try planner.judge(&refusals)
            if refusals.errors.count == known { break }
            // Without these the others may be judged otherwise: what they would have taken is free.
            request.operations.removeAll { refusals.errors[$0.object.number] != nil }
        }
        return refusals.errors
    }

    /// Finds the inserts that break the first kind of rule which any of them breaks: only others that break none can be in the way of a unique value.
    private mutating func judge(_ refusals: inout Refusals) throws {
        let known = refusals.errors.count
        try findUnworkable(&refusals)
        guard refusals.errors.count == known else { return }
        let objects = graph.inOrder
        try DerivedAttributes(graph: graph).compute(objects)
        let validator = SaveValidator(graph: graph, model: model, limits: limits, counts: counts)
        for working in inserted where !refusals.settles(working.object) {
            guard let error = try validator.refusal(of: working) else { continue }
            try refusals.add(error, for: working.object)
        }
        guard refusals.errors.count == known else { return }
        try UniquenessCheck(graph: graph, model: model, store: store, policy: request.policy)
            .findRefusals(inserted, &refusals)
    }

    private var inserted: [WorkingObject] {
        request.operations.compactMap { graph.objects[$0.object.number] }
    }

    /// Finds the inserts that can't even be tried: of a number that is not to be had, with values of another type, or with links to nothing.
    ///
    /// What is left in the graph of one that failed is in no other's way: nothing is planned from it.
    private mutating func findUnworkable(_ refusals: inout Refusals) throws {
        for operation in request.operations {
            do {
                try insert(operation.object)
            } catch let error as TandemError {
                try refusals.add(error, for: operation.object)
            }
        }
        let mapping = ReferenceMapping([])
        for operation in request.operations where !refusals.settles(operation.object) {
            do {
                try perform(operation, mapping)
            } catch let error as TandemError {
                try refusals.add(error, for: operation.object)
            }
        }
    }

    /// Before which inserts a request has to be cut, by their places in it, so that no part has two new objects with the same unique values.
    ///
    /// With a policy that lets a new object become an existing one, the second is a part's where the first exists. Throws what stands in the way of
    /// any insert by itself. Cost: that of planning.
    static func cuts(
        of request: SaveRequest, model: CompiledModel, store: Store, numbersBelow: ObjectNumber,
        limits: DaemonLimits, counts: LimitCounts
    ) throws -> [Int] {
        var planner = SavePlanner(request, model, store, numbersBelow, limits, counts)
        try planner.run(replacing: [])
        try DerivedAttributes(graph: planner.graph).compute(planner.graph.inOrder)
        return try UniquenessCheck(
            graph: planner.graph, model: model, store: store, policy: request.policy
        ).cuts(planner.inserted)
    }
}
