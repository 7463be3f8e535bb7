import TandemQuery

extension FetchPlan {
    /// Returns the tree of the plan in preorder, as `tandem explain` prints it.
    func steps(
        of request: CompiledRequest, for kind: FetchResultKind, depth: Int = 0
    ) -> [FetchPlanStep] {
        var step = FetchPlanStep(
            entity: request.entity.name, access: .scan, findsOnlyMatches: findsOnlyMatches,
            isOrdered: isOrdered, depth: depth, needsOnlyKeys: needsNoRows(for: kind))
        var parts: [FetchPlanStep] = []
        switch access {
        case .scan:
            guard case .keys(let index, _) = order else { break }
            parts = [
                FetchPlanStep(
                    entity: request.entity.name, access: .index, properties: index.properties,
                    ranges: 1, isOrdered: true, depth: depth + 1)
            ]
        case .members(_, _, let name): (step.access, step.properties) = (.inverse, [name])
        case .unique(let unique):
            (step.access, step.properties) = (.unique, unique.constraint.properties)
            step.ranges = unique.keys.count
        case .index(let index, let ranges):
            (step.access, step.properties) = (.index, index.properties)
            step.ranges = ranges.count
        case .holders(let member): (step.access, step.properties) = (.inverse, [member.name])
        case .union(let paths):
            (step.access, step.ranges) = (.union, paths.count)
            parts = paths.flatMap {
                FetchPlan(access: $0).steps(of: request, for: kind, depth: depth + 1)
            }
        case .related(let condition, let target, let plan):
            (step.access, step.properties) = (.related, [condition.name])
            parts = plan.steps(of: target, for: .references, depth: depth + 1)
        }
        return [step] + parts
    }
}
