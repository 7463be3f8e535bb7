public import FoundationEssentials
public import TandemModel
public import TandemQuery

/// A Swift value that a typed predicate may contain.
///
/// Values of attributes, objects, object ids, and optionals and arrays of these are operands.
public protocol PredicateOperand {
    /// The value as an expression of a predicate.
    var predicateOperand: QueryExpression { get }
}

extension AttributeConvertible {
    /// The value as an expression of a predicate.
    public var predicateOperand: QueryExpression { .constant(attributeValue) }
}

extension URL: PredicateOperand {
    /// The value as an expression of a predicate.
    public var predicateOperand: QueryExpression { .constant(.url(absoluteString)) }
}

extension ObjectID: PredicateOperand {
    /// The object with this id as an expression of a predicate.
    public var predicateOperand: QueryExpression { .object(self) }
}

extension ManagedObject: PredicateOperand {
    /// The object as an expression of a predicate.
    public var predicateOperand: QueryExpression { .object(id) }
}

extension Optional: PredicateOperand where Wrapped: PredicateOperand {
    /// The value, or null for nil, as an expression of a predicate.
    public var predicateOperand: QueryExpression {
        map(\.predicateOperand) ?? .constant(.null)
    }
}

extension Array: PredicateOperand where Element: PredicateOperand {
    /// The values as a list, for `IN %@` and `BETWEEN %@`.
    public var predicateOperand: QueryExpression { .list(map(\.predicateOperand)) }
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
        case let operand as any PredicateOperand: return operand.predicateOperand
        case let value as Value: return .constant(value)
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
