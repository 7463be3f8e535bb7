import TandemQuery

extension FetchPlan {
    /// The plan of a request as it is shown, what finds related objects last.
    func steps(of request: CompiledRequest) -> [FetchPlanStep] {
        var step = FetchPlanStep(
            entity: request.entity.name, access: .scan, decides: decides, isOrdered: isOrdered)
        var rest: [FetchPlanStep] = []
        switch access {
        case .scan:
            guard case .keys(let index, _) = order else { break }
            rest = [
                FetchPlanStep(
                    entity: request.entity.name, access: .index, properties: index.properties,
                    ranges: 1, isOrdered: true)
            ]
        case .members(_, _, let name): (step.access, step.properties) = (.inverse, [name])
        case .unique(let unique):
            (step.access, step.properties) = (.unique, unique.constraint.properties)
            step.ranges = unique.keys.count
        case .index(let index, let ranges):
            (step.access, step.properties) = (.index, index.properties)
            step.ranges = ranges.count
        case .holders(let member): (step.access, step.properties) = (.inverse, [member.name])
        case .union(let parts):
            (step.access, step.ranges) = (.union, parts.count)
            rest = parts.flatMap { FetchPlan(access: $0).steps(of: request) }
        case .related(let condition, let target, let plan):
            (step.access, step.properties) = (.related, [condition.name])
            rest = plan.steps(of: target)
        }
        return [step] + rest
    }
}
