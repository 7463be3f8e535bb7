public import TandemModel

/// An object to which a relationship to many leads from every object that matches; food for a planner.
///
/// `ANY labels == %@` says that the label is one of `labels`: so all that match are at the other end of its inverse.
public struct RequiredMember: Sendable {
    /// The relationship's name.
    public let name: String
    /// The relationship, with its inverse.
    public let relationship: CompiledRelationship
    /// The object, as it was named: it may be of an entity that inherits from the one here.
    public let object: ObjectReference
    /// The part of the predicate that says so.
    public let part: ObjectPredicate

    /// The inverse; nil where the model lacks it.
    public func inverse(in model: CompiledModel) -> CompiledRelationship? {
        model.entity(tagged: relationship.destination)
            .flatMap { relationship.inverseSlot < $0.properties.count ? $0 : nil }?
            .properties[relationship.inverseSlot].relationship
    }

    /// The members that the top level of a predicate asks for.
    static func members(
        of predicate: ObjectPredicate?, _ entity: CompiledEntity, _ model: CompiledModel
    ) -> [RequiredMember] {
        (predicate?.requiredComparisons ?? []).compactMap { comparison in
            guard comparison.op == .equal, comparison.quantifier == .any,
                case .keyPath(let names) = comparison.left, names.count == 1,
                let relationship = entity.property(named: names[0])?.relationship,
                relationship.toMany, let object = comparison.right.object(in: model)
            else { return nil }
            return RequiredMember(
                name: names[0], relationship: relationship, object: object,
                part: .comparison(comparison))
        }
    }
}

extension QueryExpression {
    /// The object that it stands for, if it is one.
    fileprivate func object(in model: CompiledModel) -> ObjectReference? {
        switch self {
        case .object(let id): model.reference(to: id)
        case .constant(let value): value.reference
        default: nil
        }
    }
}
