public import FoundationEssentials
public import TandemModel
public import TandemQuery

/// A Swift value that may stand in a typed predicate: values of attributes, objects and their ids, and optionals of these.
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
    /// The object of the id as an expression of a predicate.
    public var predicateOperand: QueryExpression { .object(self) }
}

extension ManagedObject: PredicateOperand {
    /// The object as an expression of a predicate.
    public var predicateOperand: QueryExpression { .object(id) }
}

extension Optional: PredicateOperand where Wrapped: PredicateOperand {
    /// The value as an expression of a predicate, or nil's.
    public var predicateOperand: QueryExpression {
        map(\.predicateOperand) ?? .constant(.null)
    }
}

/// The expressions of values whose types are known at run time only.
enum AnyOperand {
    /// The value as an expression, collections as lists; nil for what no predicate can hold.
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
        // The order of a set is another one in every process.
        if elements is any SetAlgebra { parts.sort { $0.format < $1.format } }
        return .list(parts)
    }
}

/// An optional of whatever type.
private protocol OptionalOperand {
    var wrappedOperand: Any? { get }
}

extension Optional: OptionalOperand {
    fileprivate var wrappedOperand: Any? { self }
}
