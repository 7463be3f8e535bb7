import FoundationEssentials
import TandemModel
import TandemQuery

extension PredicateExpressions.Conjunction: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        .predicate(.and([try translation.predicate(lhs), try translation.predicate(rhs)]))
    }
}

extension PredicateExpressions.Disjunction: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        .predicate(.or([try translation.predicate(lhs), try translation.predicate(rhs)]))
    }
}

extension PredicateExpressions.Negation: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { .predicate(.not(try translation.predicate(wrapped))) }
}

extension PredicateExpressions.Conditional: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        // A non-Boolean branch could be nil, which is not the same as false.
        guard Output.self is Bool.Type else { throw PredicateTranslation.unknown(self) }
        let test = try translation.predicate(test)
        let (yes, no) = (
            try translation.predicate(trueBranch), try translation.predicate(falseBranch)
        )
        return .predicate(.or([.and([test, yes]), .and([.not(test), no])]))
    }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { .predicate(try translation.compare(lhs, .equal, rhs)) }
}

extension PredicateExpressions.NotEqual: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { .predicate(try translation.compare(lhs, .notEqual, rhs)) }
}

extension PredicateExpressions.Comparison: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        let op: Comparison.Operator =
            switch op {
            case .lessThan: .less
            case .lessThanOrEqual: .lessOrEqual
            case .greaterThan: .greater
            case .greaterThanOrEqual: .greaterOrEqual
            @unknown default: throw PredicateTranslation.unknown(self)
            }
        return .predicate(try translation.compare(lhs, op, rhs))
    }
}

extension PredicateTranslation {
    fileprivate mutating func compare(
        _ left: Any, _ op: Comparison.Operator, _ right: Any
    ) throws(TandemError) -> PredicateTree {
        switch (try translate(left), try translate(right)) {
        case (.value(let one, let first), .value(let two, let second)):
            let whenNil = PredicateTree.either(
                two, second, whenNil: .constant(op == .equal)
            ) { .compared(toNil: $0, op) }
            return .either(one, first, whenNil: whenNil) { one in
                .either(two, second, whenNil: .compared(toNil: one, op)) {
                    .comparison(Comparison(one, op, $0))
                }
            }
        case (let condition, .value(.constant(let wanted), nil)):
            return try Self.compare(condition, op, wanted, left)
        case (.value(.constant(let wanted), nil), let condition):
            return try Self.compare(condition, op, wanted, right)
        default: throw Self.unknown(left, "cannot be compared with `\(type(of: right))`")
        }
    }

    /// Returns the comparison of a condition with true, false or nil.
    private static func compare(
        _ part: Translation, _ op: Comparison.Operator, _ wanted: PropertyValue, _ node: Any
    ) throws(TandemError) -> PredicateTree {
        guard op == .equal || op == .notEqual else { throw unknown(node) }
        switch (part, wanted) {
        case (.predicate(let condition), .bool(let wanted)):
            return wanted == (op == .equal) ? condition : .not(condition)
        case (.optionalPredicate(let condition, let needed), .bool(let wanted)):
            // Nil differs from true and from false.
            let isEqual = needed.and(wanted ? condition : .not(condition))
            return op == .equal ? isEqual : .not(isEqual)
        case (.optionalPredicate(_, let needed), .null):
            return op == .equal ? needed.fails : .not(needed.fails)
        default:
            let value = QueryExpression.constant(wanted).format
            throw unknown(node, "cannot be compared with \(value)")
        }
    }
}

extension PredicateTree {
    /// Returns the comparison of a value with nil.
    fileprivate static func compared(
        toNil value: QueryExpression, _ op: Comparison.Operator
    ) -> PredicateTree {
        switch op {
        case .equal: .absent(value)
        case .notEqual: .present(value)
        default: .constant(false)
        }
    }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        guard let (value, needed) = try translation.translate(wrapped).optional else {
            throw PredicateTranslation.unknown(self)
        }
        translation.variables[variable.key] = value
        switch try translation.translate(transform) {
        case .predicate(let condition): return .optionalPredicate(condition, needed)
        case .optionalPredicate(let condition, let inner):
            return .optionalPredicate(condition, needed.adding(inner))
        case .value(let result, nil) where needed.isImplied(by: result):
            return .value(result, or: nil)
        case .value(let result, nil): return .value(result, or: Fallback(needed: needed))
        case .value(let result, let inner?) where inner.value == nil:
            return .value(result, or: Fallback(needed: needed.adding(inner.needed)))
        case .members(let members): return .members(members)
        default: throw PredicateTranslation.unknown(self)
        }
    }
}

extension PredicateExpressions.NilCoalesce: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        let part = try translation.translate(lhs)
        if let (value, needed) = part.optional {
            return .value(
                value, or: Fallback(needed: needed, value: try translation.value(rhs)))
        }
        guard case .optionalPredicate(let condition, let needed) = part else {
            throw PredicateTranslation.unknown(self)
        }
        return .predicate(.choice(needed, condition, try translation.predicate(rhs)))
    }
}

extension PredicateExpressions.ForcedUnwrap: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { try translation.translate(inner) }
}

extension PredicateExpressions.NilLiteral: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { .value(.constant(.null), or: nil) }
}
