public import FoundationEssentials
public import TandemModel
public import TandemQuery

/// A Swift value that a typed predicate may contain.
///
/// Values of attributes, objects, object ids, and optionals and arrays of these are operands.
public protocol PredicateOperand {
    /// The value as an argument of a predicate's text.
    var _predicateOperand: PredicateArgument { get }
}

extension PredicateOperand {
    /// The value as an expression of a predicate.
    var expression: QueryExpression { QueryExpression(_predicateOperand) }
}

extension AttributeConvertible {
    /// The value as an argument of a predicate's text.
    public var _predicateOperand: PredicateArgument { .value(attributeValue) }
}

extension URL: PredicateOperand {
    /// The value as an argument of a predicate's text.
    public var _predicateOperand: PredicateArgument { .value(.url(absoluteString)) }
}

extension ObjectID: PredicateOperand {
    /// The object with this id as an argument of a predicate's text.
    public var _predicateOperand: PredicateArgument { .object(self) }
}

extension ManagedObject: PredicateOperand {
    /// The object as an argument of a predicate's text.
    public var _predicateOperand: PredicateArgument { .object(id) }
}

extension Optional: PredicateOperand where Wrapped: PredicateOperand {
    /// The value, or null for nil, as an argument of a predicate's text.
    public var _predicateOperand: PredicateArgument {
        map(\._predicateOperand) ?? .value(.null)
    }
}

extension Array: PredicateOperand where Element: PredicateOperand {
    /// The values as a list, for `IN %@` and `BETWEEN %@`.
    public var _predicateOperand: PredicateArgument { .list(map(\._predicateOperand)) }
}

extension QueryExpression {
    /// Creates the expression for a value, an object or a list.
    ///
    /// An operand is no key path: only the parser of texts reads those, with `SELF` and aggregates.
    init(_ argument: PredicateArgument) {
        switch argument {
        case .value(let value): self = .constant(value)
        case .object(let id): self = .object(id)
        case .list(let elements): self = .list(elements.map { QueryExpression($0) })
        case .keyPath(let text):
            fatalError(
                "A predicate operand must be a value, an object or a list, not the key path \(text)."
            )
        }
    }
}

/// Creates expressions for values whose types are known only at run time.
enum AnyOperand {
    /// Returns the value as an expression, or nil if no predicate can contain it.
    ///
    /// A collection becomes a list.
    static func expression(of value: Any) -> QueryExpression? {
        switch value {
        case let optional as any OptionalOperand:
            guard let wrapped = optional.wrappedOperand else { return .constant(.null) }
            return expression(of: wrapped)
        case let operand as any PredicateOperand: return operand.expression
        case let value as PropertyValue: return .constant(value)
        case let number as any BinaryInteger:
            return Int64(exactly: number).map { .constant(.int($0)) }
        case let number as Float: return .constant(.double(Double(number)))
        case let text as any StringProtocol: return .constant(.string(String(text)))
        case let character as Character: return .constant(.string(String(character)))
        case let elements as any Collection: return list(elements)
        default: return nil
        }
    }

    private static func list(_ elements: any Collection) -> QueryExpression? {
        var parts: [QueryExpression] = []
        for element in elements {
            guard let part = expression(of: element) else { return nil }
            parts.append(part)
        }
        // Sorted, because the order of a set differs from process to process.
        if elements is any SetAlgebra { parts.sort { $0.format < $1.format } }
        return .list(parts)
    }
}

/// An optional with any wrapped type.
private protocol OptionalOperand {
    var wrappedOperand: Any? { get }
}

extension Optional: OptionalOperand {
    fileprivate var wrappedOperand: Any? { self }
}
