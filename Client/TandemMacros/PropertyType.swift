#if Macros
import SwiftSyntax

/// The type of a stored property, read from its syntax.
enum PropertyType {
    /// A type that is neither a collection nor built in, such as an enum or a class.
    case named(TypeSyntax, isOptional: Bool)
    /// A type of the standard library or Foundation with its attribute type, such as `int`.
    case builtIn(TypeSyntax, attributeType: String, isOptional: Bool)
    /// A set or, if ordered, an array.
    case members(TypeSyntax, isOrdered: Bool)
    /// A type that no property of an entity can have, with the type to use instead.
    case unsupported(alternative: String?)

    /// Reads a type.
    init(_ type: TypeSyntax) {
        if let wrapped = Self.wrapped(type) {
            self = PropertyType(wrapped).optional
        } else if let array = type.as(ArrayTypeSyntax.self) {
            self = .members(array.element, isOrdered: true)
        } else if let (name, arguments) = Self.name(of: type) {
            self = Self.named(type, name, arguments)
        } else {
            self = .unsupported(alternative: nil)
        }
    }

    private static func named(
        _ type: TypeSyntax, _ name: String, _ arguments: [TypeSyntax]
    ) -> PropertyType {
        if let element = arguments.first, arguments.count == 1 {
            if name == "Set" { return .members(element, isOrdered: false) }
            if name == "Array" { return .members(element, isOrdered: true) }
        }
        if let attributeType = attributeTypes[name] {
            return .builtIn(type, attributeType: attributeType, isOptional: false)
        }
        if let alternative = alternatives[name] { return .unsupported(alternative: alternative) }
        return name == "Dictionary" || name == "Any" || name == "AnyObject"
            ? .unsupported(alternative: nil) : .named(type, isOptional: false)
    }

    /// The optional of this type; unsupported if this type is a collection or an optional.
    private var optional: PropertyType {
        switch self {
        case .named(let type, isOptional: false): .named(type, isOptional: true)
        case .builtIn(let type, let attributeType, isOptional: false):
            .builtIn(type, attributeType: attributeType, isOptional: true)
        case .members(let element, isOrdered: true):
            .unsupported(alternative: "[\(element.trimmed)]")
        case .members(let element, isOrdered: false):
            .unsupported(alternative: "Set<\(element.trimmed)>")
        case .unsupported(let alternative):
            .unsupported(alternative: alternative.map { "\($0)?" })
        default: .unsupported(alternative: nil)
        }
    }

    /// Returns the wrapped type of `Wrapped?` and `Optional<Wrapped>`.
    private static func wrapped(_ type: TypeSyntax) -> TypeSyntax? {
        if let optional = type.as(OptionalTypeSyntax.self) { return optional.wrappedType }
        guard let (name, arguments) = name(of: type), name == "Optional" else { return nil }
        return arguments.first
    }

    /// Returns the last component of a type's name, and its generic arguments.
    private static func name(of type: TypeSyntax) -> (name: String, arguments: [TypeSyntax])? {
        let (token, clause): (TokenSyntax, GenericArgumentClauseSyntax?)
        if let named = type.as(IdentifierTypeSyntax.self) {
            (token, clause) = (named.name, named.genericArgumentClause)
        } else if let member = type.as(MemberTypeSyntax.self) {
            (token, clause) = (member.name, member.genericArgumentClause)
        } else {
            return nil
        }
        let arguments = clause?.arguments.compactMap { $0.argument.as(TypeSyntax.self) }
        return (token.plainText, arguments ?? [])
    }

    private static let attributeTypes = [
        "Bool": "bool", "Int": "int", "Int64": "int", "Double": "double", "Decimal": "decimal",
        "String": "string", "Date": "date", "Data": "data", "UUID": "uuid", "URL": "url",
    ]

    private static let alternatives = [
        "Int8": "Int", "Int16": "Int", "Int32": "Int", "UInt": "Int", "UInt8": "Int",
        "UInt16": "Int", "UInt32": "Int", "UInt64": "Int", "Float": "Double", "CGFloat": "Double",
        "Character": "String", "Substring": "String",
    ]
}

extension TokenSyntax {
    /// The text of an identifier, without backticks.
    var plainText: String { text.filter { $0 != "`" } }
}
#endif
