import FoundationEssentials
import TandemModel
import TandemQuery

extension PredicateExpressions.Variable: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        guard let value = translation.variables[key] else {
            throw PredicateTranslation.unknown(self, "is not bound to a value")
        }
        return .value(value, or: nil)
    }
}

extension PredicateExpressions.Value: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        if let range = value as? any OperandRange, let ends = range.ends { return .range(ends) }
        guard let expression = AnyOperand.expression(of: value) else {
            throw PredicateTranslation.unknown(value, "is not a value of an attribute")
        }
        return .value(expression, or: nil)
    }
}

extension PredicateExpressions.KeyPath: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        if let kind { return try translate(kind, &translation) }
        let root = try translation.value(root)
        let path = try KeyPathRecorder.path(of: keyPath)
        var expression: QueryExpression? = root
        for name in path.names { expression = expression?.appending(name) }
        guard let expression else { throw PredicateTranslation.unknown(self) }
        return path.isToMany ? .members(expression) : .value(expression, or: nil)
    }

    /// Translates `count` and `isEmpty`.
    private func translate(
        _ kind: CommonKeyPathKind, _ translation: inout PredicateTranslation
    ) throws(TandemError) -> PredicateTranslation.Translation {
        switch (kind, try translation.translate(root)) {
        case (.collectionCount, .members(let members)):
            return .value(.aggregate(.count, of: members, path: []), or: nil)
        case (.collectionIsEmpty, .members(let members)):
            let count = QueryExpression.aggregate(.count, of: members, path: [])
            return .predicate(.comparison(Comparison(count, .equal, .constant(.int(0)))))
        case (.collectionIsEmpty, .value(let text, nil))
        where Root.Output.self is any StringProtocol.Type:
            return .predicate(.comparison(Comparison(text, .equal, .constant(.string("")))))
        case (.collectionCount, _):
            throw PredicateTranslation.unknown(named: "count", "has no translation for this value")
        default: throw PredicateTranslation.unknown(self)
        }
    }
}

// MARK: Arithmetic

extension PredicateExpressions.Arithmetic: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        let op: Arithmetic =
            switch op {
            case .add: .add
            case .subtract: .subtract
            case .multiply: .multiply
            @unknown default: throw PredicateTranslation.unknown(self)
            }
        return try translation.calculate(lhs, op, rhs)
    }
}

extension PredicateExpressions.IntDivision: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { try translation.calculate(lhs, .divide, rhs) }
}

extension PredicateExpressions.FloatDivision: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { try translation.calculate(lhs, .divide, rhs) }
}

extension PredicateExpressions.UnaryMinus: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        let value = try translation.value(wrapped)
        return .value(.arithmetic(.subtract, .constant(.int(0)), value), or: nil)
    }
}

extension PredicateTranslation {
    fileprivate mutating func calculate(
        _ left: Any, _ op: Arithmetic, _ right: Any
    ) throws(TandemError) -> Translation {
        .value(.arithmetic(op, try value(left), try value(right)), or: nil)
    }
}

// MARK: Strings

extension PredicateExpressions.CollectionContainsCollection: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { try translation.test(self, base, .contains, other) }
}

extension PredicateExpressions.SequenceStartsWith: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    { try translation.test(self, base, .beginsWith, prefix) }
}

extension PredicateTranslation {
    fileprivate mutating func test(
        _ node: Any, _ left: Any, _ op: Comparison.Operator, _ right: Any
    ) throws(TandemError) -> Translation {
        guard case .value(let text, let other) = try translate(left) else {
            throw Self.unknown(node)
        }
        let part = try value(right)
        if case .list = part { throw Self.unknown(node) }
        return .predicate(.either(text, other) { .comparison(Comparison($0, op, part)) })
    }
}
