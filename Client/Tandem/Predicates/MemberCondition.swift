import TandemQuery

/// Builds conditions on the members of a collection in their simplest form.
///
/// A comparison of a member's property with a constant becomes `ANY path.name op value`, which an
/// index can answer. All other conditions become a `SUBQUERY`.
enum MemberCondition {
    /// Returns a predicate that is true if the condition on a variable holds for at least one
    /// member.
    static func any(
        _ members: QueryExpression, _ variable: String, in condition: PredicateTree
    ) -> PredicateTree {
        quantified(members, variable, condition, .any)
            ?? count(members, variable, condition, .greater)
    }

    /// Returns a predicate that is true if the condition on a variable holds for all members.
    static func all(
        _ members: QueryExpression, _ variable: String, in condition: PredicateTree
    ) -> PredicateTree {
        quantified(members, variable, condition, .all)
            ?? count(members, variable, .not(condition), .equal)
    }

    private static func count(
        _ members: QueryExpression, _ variable: String, _ condition: PredicateTree,
        _ op: Comparison.Operator
    ) -> PredicateTree {
        let found = QueryExpression.subquery(of: members, variable: variable, where: condition)
        let count = QueryExpression.aggregate(.count, of: found, path: [])
        return .comparison(Comparison(count, op, .constant(.int(0))))
    }

    private static func quantified(
        _ members: QueryExpression, _ variable: String, _ condition: PredicateTree,
        _ quantifier: Comparison.Quantifier
    ) -> PredicateTree? {
        guard case .comparison(var comparison) = condition, comparison.quantifier == .direct,
            case .variable(variable, let path) = comparison.left, !path.isEmpty,
            comparison.right.isConstant,
            let longer = path.reduce(members, { $0?.appending($1) })
        else { return nil }
        comparison.left = longer
        comparison.quantifier = quantifier
        return .comparison(comparison)
    }
}

extension QueryExpression {
    /// Whether the expression is a value, an object or a list of these.
    var isConstant: Bool {
        switch self {
        case .constant, .object: true
        case .list(let elements): elements.allSatisfy(\.isConstant)
        default: false
        }
    }
}

extension PredicateTree {
    /// Returns the condition rewritten to apply to the object bound to a variable.
    func of(_ variable: String) -> PredicateTree {
        switch self {
        case .constant: return self
        case .and(let parts): return .and(parts.map { $0.of(variable) })
        case .or(let parts): return .or(parts.map { $0.of(variable) })
        case .not(let part): return .not(part.of(variable))
        case .comparison(var comparison):
            comparison.left = comparison.left.of(variable)
            comparison.right = comparison.right.of(variable)
            return .comparison(comparison)
        }
    }
}

extension QueryExpression {
    /// Returns the expression rewritten to read from the object bound to a variable.
    ///
    /// Variables of nested subqueries are renamed.
    fileprivate func of(_ variable: String) -> QueryExpression {
        switch self {
        case .constant, .object: self
        case .variable(let name, let path): .variable(name + variable, path: path)
        case .list(let elements): .list(elements.map { $0.of(variable) })
        case .keyPath(let names): .variable(variable, path: names)
        case .selfObject: .variable(variable, path: [])
        case .aggregate(let aggregate, let collection, let path):
            .aggregate(aggregate, of: collection.of(variable), path: path)
        case .subquery(let collection, let inner, let condition):
            .subquery(
                of: collection.of(variable), variable: inner + variable,
                where: condition.of(variable))
        case .arithmetic(let op, let left, let right):
            .arithmetic(op, left.of(variable), right.of(variable))
        }
    }
}
