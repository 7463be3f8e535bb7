#if Macros
public import FoundationEssentials
public import TandemModel

/// An attribute option that is declared in the entity: uniqueness or an index.
public enum AttributeOption: Sendable {
    /// No two objects of the entity have the same value.
    case unique
    /// The attribute has an index.
    case indexed
}

/// The root of the key paths, such as `\.team`, that name the inverses of relationships.
@dynamicMemberLookup
public struct InverseName: Sendable {
    /// Accepts any property name.
    public subscript(dynamicMember name: String) -> InverseName { self }
}

extension AttributeType {
    /// Creates the attribute type to which values of a Swift type are converted.
    ///
    ///     Attribute("level", AttributeType(of: Level.self))
    public init<Converted: AttributeConvertible>(of type: Converted.Type) {
        guard let found = Converted.zero.attributeValue.type else {
            fatalError("\(type).zero must not convert to null.")
        }
        self = found
    }

    /// Unavailable for objects: a property that refers to objects is a relationship.
    @available(*, unavailable, message: "a relationship needs @Relationship(inverse:)")
    public init<Object: ManagedObject>(of type: Object.Type) {
        fatalError("A relationship needs @Relationship(inverse:).")
    }
}

extension URL {
    /// This URL as an attribute value.
    public var attributeValue: PropertyValue { .url(absoluteString) }
}

extension Managed {
    /// Creates a wrapper for the property with this name; used by the macro `ManagedObjectModel`.
    ///
    /// The initial value is never evaluated: it is the default of the entity's attribute.
    public init(wrappedValue: @autoclosure () -> Value, declaring name: String) {
        self.init(name)
    }
}
#endif
