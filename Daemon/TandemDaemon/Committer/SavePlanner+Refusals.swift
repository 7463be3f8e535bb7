import TandemModel
import TandemStore
import TandemWire

/// Which of many inserts stand in the way when they can't be carried out together.
extension SavePlanner {
    /// The inserts that can't be carried out, with why: each as if it came behind those before it that can, in the order of the request.
    ///
    /// A request whose policy lets objects become one is not judged: there it follows from all inserts together what each becomes. Nor is what
    /// only the objects at the other ends of links are against. The store is only read. Cost: that of planning, for each kind of rule
    /// that is broken.
    static func refusals(
        of request: SaveRequest, model: CompiledModel, store: Store, numbersBelow: ObjectNumber,
        limits: DaemonLimits, counts: LimitCounts
    ) throws -> [ObjectNumber: TandemError] {
        guard request.policy == .error else { return [:] }
        var refused: [ObjectNumber: TandemError] = [:]
        var request = request
        while true {
            var planner = SavePlanner(request, model, store, numbersBelow, limits, counts)
            let found = try planner.refusals()
            if found.isEmpty { return refused }
            refused.merge(found) { $1 }
            // Without these the others may be judged otherwise: what they would have taken is free.
            request.operations.removeAll { found[$0.object.number] != nil }
        }
    }

    /// The inserts that break the first kind of rule which any of them breaks: only others that break none can be in the way of a unique value.
    private mutating func refusals() throws -> [ObjectNumber: TandemError] {
        var refused = try unworkable()
        guard refused.isEmpty else { return refused }
        let objects = graph.inOrder
        try DerivedAttributes(graph: graph).compute(objects)
        let inserted = request.operations.compactMap { graph.objects[$0.object.number] }
        let validator = SaveValidator(graph: graph, model: model, limits: limits, counts: counts)
        for working in inserted {
            refused[working.object.number] = try validator.refusal(of: working)
        }
        guard refused.isEmpty else { return refused }
        return try UniquenessCheck(
            graph: graph, model: model, store: store, policy: request.policy
        ).refusals(inserted)
    }

    /// The inserts that can't even be tried: of a number that is not to be had, with values of another type, or with links to nothing.
    ///
    /// What is left in the graph of one that failed is in no other's way: nothing is planned from it.
    private mutating func unworkable() throws -> [ObjectNumber: TandemError] {
        var refused: [ObjectNumber: TandemError] = [:]
        for operation in request.operations {
            do {
                try insert(operation.object)
            } catch let error as TandemError {
                refused[operation.object.number] = error
            }
        }
        let mapping = ReferenceMapping([])
        for operation in request.operations where refused[operation.object.number] == nil {
            do {
                try perform(operation, mapping)
            } catch let error as TandemError {
                refused[operation.object.number] = error
            }
        }
        return refused
    }
}
