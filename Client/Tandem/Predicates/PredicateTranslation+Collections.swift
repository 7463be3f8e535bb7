import FoundationEssentials
import TandemModel
import TandemQuery

// MARK: Relationships

extension PredicateExpressions.SequenceContainsWhere: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        let members = try translation.members(sequence)
        let (name, condition) = try translation.condition(test, on: variable.key)
        return .predicate(MemberCondition.any(members, name, in: condition))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        let members = try translation.members(sequence)
        let (name, condition) = try translation.condition(test, on: variable.key)
        return .predicate(MemberCondition.all(members, name, in: condition))
    }
}

extension PredicateExpressions.Filter: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        let members = try translation.members(sequence)
        let (name, condition) = try translation.condition(filter, on: variable.key)
        return .members(.subquery(of: members, variable: name, where: condition))
    }
}

// MARK: Lists

extension PredicateExpressions.SequenceContains: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        let element = try translation.value(element)
        switch try translation.translate(sequence) {
        case .value(.list(let elements), nil):
            return .predicate(.isMember(element, of: elements))
        case .value(let text, nil) where RHS.Output.self is Character.Type:
            return .predicate(.comparison(Comparison(text, .contains, element)))
        case .members(let members):
            return .predicate(.comparison(Comparison(element, .in, members)))
        default: throw PredicateTranslation.unknown(self)
        }
    }
}

extension PredicateTree {
    /// Returns the condition that a list contains a value.
    ///
    /// A Swift list may contain nil, but `IN` never matches null.
    fileprivate static func isMember(
        _ value: QueryExpression, of list: [QueryExpression]
    ) -> PredicateTree {
        let elements = list.filter { $0 != .constant(.null) }
        let isElement = PredicateTree.comparison(Comparison(value, .in, .list(elements)))
        return elements.count == list.count ? isElement : .or([isElement, .absent(value)])
    }
}

// MARK: Ranges

extension PredicateExpressions.RangeExpressionContains: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        guard case .range(let ends) = try translation.translate(range),
            case .value(let value, let other) = try translation.translate(element)
        else { throw PredicateTranslation.unknown(self) }
        return .predicate(.either(value, other) { ends.contains($0) })
    }
}

extension PredicateExpressions.Range: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        .range(
            ValueRange(
                lower: try translation.value(lower), upper: try translation.value(upper),
                isClosed: false))
    }
}

extension PredicateExpressions.ClosedRange: TranslatedExpression {
    func translate(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Translation
    {
        .range(
            ValueRange(
                lower: try translation.value(lower), upper: try translation.value(upper),
                isClosed: true))
    }
}

/// A range of values.
struct ValueRange {
    var lower: QueryExpression?
    var upper: QueryExpression?
    /// Whether the range includes its upper bound.
    var isClosed: Bool

    /// Returns the condition that a value is in the range.
    func contains(_ value: QueryExpression) -> PredicateTree {
        if let lower, let upper, isClosed {
            return .comparison(Comparison(value, .between, .list([lower, upper])))
        }
        let parts = [
            lower.map { Comparison(value, .greaterOrEqual, $0) },
            upper.map { Comparison(value, isClosed ? .lessOrEqual : .less, $0) },
        ].compactMap { $0.map { PredicateTree.comparison($0) } }
        return parts.count == 1 ? parts[0] : .and(parts)
    }
}

/// A range with bounds of any type.
protocol OperandRange {
    /// The bounds; nil if they are not attribute values.
    var ends: ValueRange? { get }
}

extension Range: OperandRange {
    var ends: ValueRange? {
        guard let lower = AnyOperand.expression(of: lowerBound),
            let upper = AnyOperand.expression(of: upperBound)
        else { return nil }
        return ValueRange(lower: lower, upper: upper, isClosed: false)
    }
}

extension ClosedRange: OperandRange {
    var ends: ValueRange? {
        guard let lower = AnyOperand.expression(of: lowerBound),
            let upper = AnyOperand.expression(of: upperBound)
        else { return nil }
        return ValueRange(lower: lower, upper: upper, isClosed: true)
    }
}

extension PartialRangeFrom: OperandRange {
    var ends: ValueRange? {
        AnyOperand.expression(of: lowerBound).map {
            ValueRange(lower: $0, upper: nil, isClosed: false)
        }
    }
}

extension PartialRangeUpTo: OperandRange {
    var ends: ValueRange? {
        AnyOperand.expression(of: upperBound).map {
            ValueRange(lower: nil, upper: $0, isClosed: false)
        }
    }
}

extension PartialRangeThrough: OperandRange {
    var ends: ValueRange? {
        AnyOperand.expression(of: upperBound).map {
            ValueRange(lower: nil, upper: $0, isClosed: true)
        }
    }
}
