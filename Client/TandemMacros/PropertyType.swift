#if Macros
import SwiftSyntax

/// The type of a stored property, read from its syntax.
enum PropertyType {
    /// A type that is neither a collection nor built in, such as an enum or a class.
    case named(TypeSyntax, isOptional: Bool)
    /// A type of the standard library or Foundation with its attribute type, such as `int`.
    case builtIn(TypeSyntax, attributeType: String, isOptional: Bool)
    /// A collection of objects: a set or, if ordered, an array.
    case members(TypeSyntax, isOrdered: Bool)
    /// A collection whose elements are not objects, such as `[String]`.
    case values
    /// A type that a property of an entity can't have, with the type to use instead.
    case unsupported(alternative: String?)

    /// Reads the type of an attribute or a relationship.
    init(_ type: TypeSyntax, ofRelationship: Bool = false) {
        if let wrapped = Self.wrapped(type) {
            self = PropertyType(wrapped, ofRelationship: ofRelationship).optional
        } else if let array = type.as(ArrayTypeSyntax.self) {
            self = Self.collection(array.element, isOrdered: true, ofRelationship)
        } else if let (name, arguments) = Self.libraryName(of: type) {
            self = Self.named(type, name, arguments, ofRelationship)
        } else {
            self =
                type.is(MemberTypeSyntax.self)
                ? .named(type, isOptional: false) : .unsupported(alternative: nil)
        }
    }

    private static func named(
        _ type: TypeSyntax, _ name: String, _ arguments: [TypeSyntax], _ ofRelationship: Bool
    ) -> PropertyType {
        if let element = arguments.first, arguments.count == 1 {
            if name == "Set" { return collection(element, isOrdered: false, ofRelationship) }
            if name == "Array" { return collection(element, isOrdered: true, ofRelationship) }
        }
        if ofRelationship, attributeTypes[name] != nil || alternatives[name] != nil {
            return type.is(IdentifierTypeSyntax.self) && classNames.contains(name)
                ? .named(type, isOptional: false) : .unsupported(alternative: nil)
        }
        if let attributeType = attributeTypes[name] {
            return .builtIn(type, attributeType: attributeType, isOptional: false)
        }
        if let alternative = alternatives[name] { return .unsupported(alternative: alternative) }
        return name == "Dictionary" || name == "Any" || name == "AnyObject"
            ? .unsupported(alternative: nil) : .named(type, isOptional: false)
    }

    /// Returns the type of a collection with elements of a type.
    private static func collection(
        _ element: TypeSyntax, isOrdered: Bool, _ ofRelationship: Bool
    ) -> PropertyType {
        if case .named(let type, let isOptional) = PropertyType(
            element, ofRelationship: ofRelationship)
        {
            guard isOptional else { return .members(element, isOrdered: isOrdered) }
            // The error suggests the type without `?`.
            return PropertyType.members(type, isOrdered: isOrdered).optional
        }
        let isBytes = isOrdered && libraryName(of: element)?.name == "UInt8"
        return isBytes && !ofRelationship ? .unsupported(alternative: "Data") : .values
    }

    /// The optional form of this type; unsupported if this type is a collection or an optional.
    private var optional: PropertyType {
        switch self {
        case .named(let type, isOptional: false): .named(type, isOptional: true)
        case .builtIn(let type, let attributeType, isOptional: false):
            .builtIn(type, attributeType: attributeType, isOptional: true)
        case .members(let element, isOrdered: true):
            .unsupported(alternative: "[\(element.trimmed)]")
        case .members(let element, isOrdered: false):
            .unsupported(alternative: "Set<\(element.trimmed)>")
        case .values: .values
        case .unsupported(let alternative):
            .unsupported(alternative: alternative.map { "\($0)?" })
        default: .unsupported(alternative: nil)
        }
    }

    /// Returns the wrapped type of `Wrapped?` and `Optional<Wrapped>`.
    private static func wrapped(_ type: TypeSyntax) -> TypeSyntax? {
        if let optional = type.as(OptionalTypeSyntax.self) { return optional.wrappedType }
        guard let (name, arguments) = libraryName(of: type), name == "Optional" else { return nil }
        return arguments.first
    }

    /// Returns the last component of a name that may be a type of the standard library or
    /// Foundation, and its generic arguments.
    ///
    /// Returns nil for a type nested in anything but these modules, such as `Shift.Date`.
    private static func libraryName(
        of type: TypeSyntax
    ) -> (name: String, arguments: [TypeSyntax])? {
        let (token, clause): (TokenSyntax, GenericArgumentClauseSyntax?)
        if let named = type.as(IdentifierTypeSyntax.self) {
            (token, clause) = (named.name, named.genericArgumentClause)
        } else if let member = type.as(MemberTypeSyntax.self),
            libraries.contains(member.baseType.trimmedDescription)
        {
            (token, clause) = (member.name, member.genericArgumentClause)
        } else {
            return nil
        }
        let arguments = clause?.arguments.compactMap { $0.argument.as(TypeSyntax.self) }
        return (token.plainText, arguments ?? [])
    }

    /// The modules with built-in types.
    static let libraries: Set = ["Swift", "Foundation", "FoundationEssentials"]

    /// The names of built-in types that an app's model class may share.
    private static let classNames: Set = ["Character", "Data", "Date", "Decimal", "URL", "UUID"]

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
