package import TandemModel

/// An object that must be in a to-many relationship of every matching object, for a planner.
///
/// The predicate `ANY labels == %@` implies that a given label is a member of `labels`. The label's
/// inverse relationship therefore contains all matching objects.
package struct RequiredMember: Sendable {
    /// The relationship's name.
    package let name: String
    /// The relationship, with its inverse.
    package let relationship: CompiledRelationship
    /// The object as given; its entity may differ from the relationship's, for example by
    /// inheritance.
    package let object: ObjectReference
    /// The part of the predicate that requires the member.
    package let part: ObjectPredicate

    /// Returns the inverse relationship; nil if the model does not have it.
    package func inverse(in model: CompiledModel) -> CompiledRelationship? {
        model.entity(tagged: relationship.destination)
            .flatMap { relationship.inverseSlot < $0.properties.count ? $0 : nil }?
            .properties[relationship.inverseSlot].relationship
    }

    /// Returns the members that the top level of a predicate requires.
    static func members(
        of predicate: PredicateTree?, _ entity: CompiledEntity, _ model: CompiledModel
    ) -> [RequiredMember] {
        (predicate?.requiredComparisons ?? []).compactMap { comparison in
            guard comparison.op == .equal, comparison.quantifier == .any,
                case .keyPath(let names) = comparison.left, names.count == 1,
                let relationship = entity.property(named: names[0])?.relationship,
                relationship.toMany, let object = comparison.right.object(in: model)
            else { return nil }
            return RequiredMember(
                name: names[0], relationship: relationship, object: object,
                part: ObjectPredicate(.comparison(comparison)))
        }
    }
}

extension QueryExpression {
    /// Returns the object that an expression denotes; nil for any other expression.
    fileprivate func object(in model: CompiledModel) -> ObjectReference? {
        switch self {
        case .object(let id): model.reference(to: id)
        case .constant(let value): value.reference
        default: nil
        }
    }
}
