public import TandemModel

/// Something that holds for an object to which a relationship leads from every object that matches; food for a planner.
///
/// `team.zone == "Africa" AND team.wins > 3` says that `team` leads to an object of Team with `zone == "Africa" AND wins > 3`, and
/// `ANY contents.size > 3` that one of `contents` has `size > 3`. Whoever finds those objects finds all that match over
/// the inverse. Conditions that hold where a path breaks off (`== nil`, `!=`) say nothing of the kind.
public struct RelatedCondition: Sendable {
    /// The relationship.
    public let slot: Int
    /// Its name.
    public let name: String
    /// The relationship, with its inverse.
    public let relationship: CompiledRelationship
    /// The objects that it has to lead to.
    public let target: FetchRequest
    /// The same asked of the object itself: the part of the predicate that this is.
    public let part: ObjectPredicate

    /// The conditions that the top level of a predicate states, by slot.
    static func conditions(
        of predicate: ObjectPredicate?, _ entity: CompiledEntity, _ model: CompiledModel
    ) -> [RelatedCondition] {
        var one: [Int: [Comparison]] = [:]
        var result: [RelatedCondition] = []
        for comparison in predicate?.requiredComparisons ?? [] {
            guard case .keyPath(let names) = comparison.left, names.count > 1,
                comparison.failsForNothing,
                let property = entity.property(named: names[0]),
                let relationship = property.relationship
            else { continue }
            if relationship.toMany {
                let parts = [comparison]
                result += condition(property, relationship, parts, model).map { [$0] } ?? []
            } else {
                one[property.slot, default: []].append(comparison)
            }
        }
        for (slot, parts) in one.sorted(by: { $0.key < $1.key }) {
            let property = entity.properties[slot]
            guard let relationship = property.relationship else { continue }
            // All of them are said of one and the same object.
            result += condition(property, relationship, parts, model).map { [$0] } ?? []
        }
        return result
    }

    private static func condition(
        _ property: CompiledProperty, _ relationship: CompiledRelationship, _ parts: [Comparison],
        _ model: CompiledModel
    ) -> RelatedCondition? {
        guard let destination = model.entity(tagged: relationship.destination) else { return nil }
        let rest = parts.compactMap { $0.behindFirstHop(PathResolver(model, destination)) }
        guard rest.count == parts.count else { return nil }
        return RelatedCondition(
            slot: property.slot, name: property.name, relationship: relationship,
            target: FetchRequest(
                entity: destination.name, predicate: .and(rest.map { .comparison($0) })),
            part: .and(parts.map { .comparison($0) }))
    }
}

extension ObjectPredicate {
    /// The comparisons that all have to be true.
    var requiredComparisons: [Comparison] {
        switch self {
        case .and(let parts): parts.flatMap(\.requiredComparisons)
        case .comparison(let comparison): [comparison.constantLast]
        default: []
        }
    }
}

extension Comparison {
    /// Whether it is false of every object that leads nowhere, or to something without a value.
    fileprivate var failsForNothing: Bool {
        guard op != .notEqual, quantifier == .direct || quantifier == .any else { return false }
        switch right {
        case .constant(let value): return !value.isNull
        case .object: return true
        case .list(let elements): return elements.allSatisfy(\.isConstant)
        default: return false
        }
    }

    /// What it asks of the object that the first relationship of its path leads to; nil where the path can't be followed.
    fileprivate func behindFirstHop(_ resolver: PathResolver) -> Comparison? {
        guard case .keyPath(let names) = left else { return nil }
        let rest = Array(names.dropFirst())
        guard let leadsToMany = try? resolver.isToMany(rest) else { return nil }
        var copy = self
        copy.left = .keyPath(rest)
        copy.quantifier = leadsToMany ? .any : .direct
        return copy
    }
}

extension QueryExpression {
    fileprivate var isConstant: Bool {
        switch self {
        case .constant, .object: true
        default: false
        }
    }
}
