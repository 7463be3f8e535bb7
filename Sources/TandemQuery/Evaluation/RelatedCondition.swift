package import TandemModel

/// A condition on a related object that holds for every match, for a planner.
///
/// The predicate `team.zone == "Africa" AND team.wins > 3` implies that `team` is a Team with
/// `zone == "Africa" AND wins > 3`; `ANY contents.size > 3` implies that one of `contents` has
/// `size > 3`. The inverse of the relationship leads from those objects to all matching ones.
/// Conditions that are true for an empty relationship (`== nil`, `!=`) have no such implication.
package struct RelatedCondition: Sendable {
    /// The relationship's slot.
    package let slot: Int
    /// The relationship's name.
    package let name: String
    /// The relationship, with its inverse.
    package let relationship: CompiledRelationship
    /// A request for the related objects.
    package let target: FetchDescriptor
    /// The part of the predicate from which the condition follows.
    package let part: ObjectPredicate

    /// Returns the conditions at the top level of a predicate, by slot.
    static func conditions(
        of predicate: PredicateTree?, _ entity: CompiledEntity, _ model: CompiledModel
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
            // All comparisons over a to-one relationship concern the same object.
            result += condition(property, relationship, parts, model).map { [$0] } ?? []
        }
        return result
    }

    private static func condition(
        _ property: CompiledProperty, _ relationship: CompiledRelationship, _ parts: [Comparison],
        _ model: CompiledModel
    ) -> RelatedCondition? {
        guard let destination = model.entity(tagged: relationship.destination) else { return nil }
        let rest = parts.compactMap { $0.afterFirstHop(PathResolver(model, destination)) }
        guard rest.count == parts.count else { return nil }
        return RelatedCondition(
            slot: property.slot, name: property.name, relationship: relationship,
            target: FetchDescriptor(
                entity: destination.name,
                predicate: ObjectPredicate(.and(rest.map { .comparison($0) }))),
            part: ObjectPredicate(.and(parts.map { .comparison($0) })))
    }
}

extension PredicateTree {
    /// The comparisons at the top level, all of which have to be true.
    var requiredComparisons: [Comparison] {
        switch self {
        case .and(let parts): parts.flatMap(\.requiredComparisons)
        case .comparison(let comparison): [comparison.constantLast]
        default: []
        }
    }
}

extension Comparison {
    /// Whether the comparison is false if a relationship on its path is empty or the value is nil.
    fileprivate var failsForNothing: Bool {
        guard op != .notEqual, quantifier == .direct || quantifier == .any else { return false }
        switch right {
        case .constant(let value): return !value.isNull
        case .object: return true
        case .list(let elements): return elements.allSatisfy(\.isConstant)
        default: return false
        }
    }

    /// Returns the comparison rewritten for the object after the first hop; nil if the path does
    /// not exist.
    fileprivate func afterFirstHop(_ resolver: PathResolver) -> Comparison? {
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
