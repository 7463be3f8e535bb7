import FoundationEssentials
import TandemModel
import TandemQuery

extension PredicateExpressions.Conjunction: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    {
        .predicate(.and([try translation.predicate(lhs), try translation.predicate(rhs)]))
    }
}

extension PredicateExpressions.Disjunction: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    {
        .predicate(.or([try translation.predicate(lhs), try translation.predicate(rhs)]))
    }
}

extension PredicateExpressions.Negation: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    { .predicate(.not(try translation.predicate(wrapped))) }
}

extension PredicateExpressions.Conditional: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    {
        let test = try translation.predicate(test)
        let (yes, no) = (
            try translation.predicate(trueBranch), try translation.predicate(falseBranch)
        )
        return .predicate(.or([.and([test, yes]), .and([.not(test), no])]))
    }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    { .predicate(try translation.compare(lhs, .equal, rhs)) }
}

extension PredicateExpressions.NotEqual: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    { .predicate(try translation.compare(lhs, .notEqual, rhs)) }
}

extension PredicateExpressions.Comparison: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
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
    ) throws(TandemError) -> ObjectPredicate {
        switch (try part(left), try part(right)) {
        case (.value(let one, let first), .value(let two, let second)):
            return .either(one, first) { one in
                .either(two, second) { .comparison(Comparison(one, op, $0)) }
            }
        case (let condition, .value(.constant(.bool(let wanted)), nil)):
            guard op == .equal || op == .notEqual else { throw Self.unknown(left) }
            return try Self.holds(condition, left, wanted == (op == .equal))
        case (.value(.constant(.bool(let wanted)), nil), let condition):
            guard op == .equal || op == .notEqual else { throw Self.unknown(right) }
            return try Self.holds(condition, right, wanted == (op == .equal))
        default: throw Self.unknown(left, "can't be compared with `\(type(of: right))`")
        }
    }

    /// A condition that was compared with true or false.
    private static func holds(
        _ part: Part, _ node: Any, _ wanted: Bool
    ) throws(TandemError) -> ObjectPredicate {
        switch part {
        case .predicate(let condition): return wanted ? condition : .not(condition)
        case .onValue(let condition, let value):
            return .and([.present(value), wanted ? condition : .not(condition)])
        default: throw unknown(node, "can't be compared with a Boolean")
        }
    }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    {
        let value = try translation.value(wrapped)
        translation.variables[variable.key] = value
        switch try translation.part(transform) {
        case .predicate(let condition): return .onValue(condition, value)
        case .onValue(let condition, let inner):
            return .onValue(.and([.present(inner), condition]), value)
        // A constant would not be nil where the value is.
        case .value(let result, nil) where !result.isConstant: return .value(result, default: nil)
        case .members(let members): return .members(members)
        default: throw PredicateTranslation.unknown(self)
        }
    }
}

extension PredicateExpressions.NilCoalesce: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    {
        switch try translation.part(lhs) {
        case .value(let value, nil): return .value(value, default: try translation.value(rhs))
        case .onValue(let condition, let value):
            let holds = ObjectPredicate.and([.present(value), condition])
            switch try translation.predicate(rhs) {
            case .constant(false): return .predicate(holds)
            case let other: return .predicate(.or([holds, .and([.absent(value), other])]))
            }
        default: throw PredicateTranslation.unknown(self)
        }
    }
}

extension PredicateExpressions.ForcedUnwrap: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    { try translation.part(inner) }
}

extension PredicateExpressions.NilLiteral: TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
    { .value(.constant(.null), default: nil) }
}
