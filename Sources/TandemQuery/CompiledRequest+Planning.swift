import TandemModel

/// A component of a sort order that compares a column of the object's own row as it is.
public struct SortColumn: Hashable, Sendable {
    /// The attribute or to-one relationship.
    public var slot: Int
    /// Whether small comes first.
    public var ascending: Bool

    /// A component over a column.
    public init(slot: Int, ascending: Bool) {
        self.slot = slot
        self.ascending = ascending
    }
}

/// What a planner has to know of a request beside its constraints.
extension CompiledRequest {
    /// Whether nothing but the constraints is asked of an object, so that whoever holds to them need not evaluate the predicate.
    ///
    /// True without a predicate. Constraints that are not exact (``SlotConstraint/isExact``) still have to be checked on the row.
    public var constraintsDecide: Bool {
        predicate.map { ConstraintFinder.decide($0, of: entity) } ?? true
    }

    /// The order as columns of the object's own row; nil when it looks at related objects or folds texts, empty without sort keys.
    public var sortColumns: [SortColumn]? {
        var columns: [SortColumn] = []
        for (path, key) in sort {
            guard let slot = path.ownSlot, key.selector == .compare else { return nil }
            columns.append(SortColumn(slot: slot, ascending: key.ascending))
        }
        return columns
    }

    /// For each `OR` at the top level of the predicate, the constraints of its alternatives: every object that matches holds to those of one
    /// alternative at least.
    ///
    /// Those of the rest of the predicate are among them. An `OR` with an alternative that has none of its own is left out.
    public var alternatives: [[[SlotConstraint]]] {
        predicate.map { ConstraintFinder.alternatives($0, of: entity) } ?? []
    }

    /// The objects that a relationship to many has to lead to, by the top level of the predicate.
    public var requiredMembers: [RequiredMember] {
        RequiredMember.members(of: request.predicate, entity, model)
    }

    /// What the top level of the predicate asks of objects that a relationship leads to: a condition for each relationship, or more.
    public var relatedConditions: [RelatedCondition] {
        RelatedCondition.conditions(of: request.predicate, entity, model)
    }
}

extension SlotConstraint {
    /// Whether an index over the slot has exactly the objects that meet it between its two keys.
    ///
    /// Contents of blobs, numbers that are none and decimals are left to the predicate.
    public var isExact: Bool {
        switch condition {
        case .equals(let value): value.isNull || value.hasExactKey
        case .anyOf(let values): values.allSatisfy(\.hasExactKey)
        case .range(let lower, let upper):
            (lower?.value.hasExactKey ?? true) && (upper?.value.hasExactKey ?? true)
        case .prefix: true
        }
    }
}

extension Value {
    fileprivate var hasExactKey: Bool {
        switch self {
        case .bool, .int, .string, .url, .uuid, .reference: true
        case .double(let value), .date(let value): !value.isNaN
        case .null, .decimal, .longText, .data, .blob: false
        }
    }
}
