import TandemModel

/// A component of a sort order that is a column of the object's own row.
package struct SortColumn: Hashable, Sendable {
    /// The attribute or to-one relationship.
    package var slot: Int
    /// Whether the order is ascending.
    package var ascending: Bool

    /// Creates a component.
    package init(slot: Int, ascending: Bool) {
        self.slot = slot
        self.ascending = ascending
    }
}

/// Properties for a planner, in addition to the constraints.
extension CompiledRequest {
    /// Whether the constraints are equivalent to the predicate, so that it need not be evaluated.
    ///
    /// The value is true without a predicate. Constraints that are not exact
    /// (``SlotConstraint/isExact``) still have to be checked on the row.
    package var constraintsImplyPredicate: Bool {
        predicate.map { ConstraintFinder.constraintsImply($0, of: entity) } ?? true
    }

    /// The sort order as columns of the object's own row; empty without sort keys.
    ///
    /// Nil if the order depends on related objects or folds texts.
    package var sortColumns: [SortColumn]? {
        var columns: [SortColumn] = []
        for (path, key) in sort {
            guard let slot = path.ownSlot, key.selector == .compare else { return nil }
            columns.append(SortColumn(slot: slot, ascending: key.ascending))
        }
        return columns
    }

    /// For each `OR` at the top level of the predicate, the constraints of its alternatives.
    ///
    /// Every matching object satisfies the constraints of at least one alternative. Each
    /// alternative includes the constraints of the rest of the predicate. An `OR` is omitted if one
    /// of its alternatives has no constraints of its own.
    package var alternatives: [[[SlotConstraint]]] {
        predicate.map { ConstraintFinder.alternatives($0, of: entity) } ?? []
    }

    /// The objects that a to-many relationship must contain, according to the top level of the
    /// predicate.
    package var requiredMembers: [RequiredMember] {
        RequiredMember.members(of: request.predicate?.tree, entity, model)
    }

    /// The conditions on related objects at the top level of the predicate, one or more per
    /// relationship.
    package var relatedConditions: [RelatedCondition] {
        RelatedCondition.conditions(of: request.predicate?.tree, entity, model)
    }
}

extension SlotConstraint {
    /// Whether an index over the slot finds exactly the objects that satisfy the constraint.
    ///
    /// The value is false for constraints that the predicate has to check: on blobs, NaN and
    /// decimals.
    package var isExact: Bool {
        switch condition {
        case .equals(let value): value.isNull || value.hasExactKey
        case .anyOf(let values): values.allSatisfy(\.hasExactKey)
        case .range(let lower, let upper):
            (lower?.value.hasExactKey ?? true) && (upper?.value.hasExactKey ?? true)
        case .prefix: true
        }
    }
}

extension PropertyValue {
    fileprivate var hasExactKey: Bool {
        switch self {
        case .bool, .int, .string, .url, .uuid, .reference: true
        case .double(let value), .date(let value): !value.isNaN
        case .null, .decimal, .longText, .data, .blob: false
        }
    }
}
