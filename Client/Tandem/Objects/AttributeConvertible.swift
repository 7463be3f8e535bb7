public import FoundationEssentials
public import TandemModel

/// A Swift type that an attribute's values convert to and from.
///
/// The store may hold a value that the type can't show, such as a raw value that a later version of the app added to an enum. An
/// optional property reads it as nil. Any other property shows the default of its ``TandemModel/Attribute``, or ``zero`` if it has none;
/// ``ManagedObjectContext/faultFailure`` names the value once, and saves with edits of the object throw `unreadable`, until the edits are
/// rolled back or others save a value that the type can show.
///
///     enum Level: Int, AttributeConvertible { … }
///     @Managed("level") var level: Level?         // nil for a level that this version does not know
public protocol AttributeConvertible: ManagedValue, OptionalManagedValue, PredicateOperand {
    /// The value as this type; nil if it is null, of another type, or none that this type can show.
    init?(attribute value: Value)
    /// As an attribute's value.
    var attributeValue: Value { get }
    /// What a property of this type shows when there is no value.
    static var zero: Self { get }
}

extension AttributeConvertible {
    /// Reads the property of an object.
    @inlinable
    public static func read(from object: ManagedObject, _ property: CompiledProperty) -> Self {
        readOptional(from: object, property)
            ?? object.substitute(for: property.name, Self.self).flatMap(Self.init(attribute:))
            ?? zero
    }

    /// Reads the property that a ``Managed`` names.
    @inlinable
    public static func read(from object: ManagedObject, named name: ManagedName) -> Self {
        readOptional(from: object, named: name)
            ?? object.substitute(for: name, Self.self).flatMap(Self.init(attribute:)) ?? zero
    }

    /// Writes the property of an object.
    public func write(to object: ManagedObject, _ property: CompiledProperty) {
        object[property] = attributeValue
    }

    /// Reads the property of an object; nil when there is no value.
    @inlinable
    public static func readOptional(from object: ManagedObject, _ property: CompiledProperty)
        -> Self?
    {
        Self(attribute: object[property])
    }

    /// Writes the property of an object.
    public static func writeOptional(
        _ value: Self?, to object: ManagedObject, _ property: CompiledProperty
    ) {
        object[property] = value?.attributeValue ?? .null
    }
}

extension Bool: AttributeConvertible {
    /// What a property shows when there is no value.
    public static var zero: Bool { false }

    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .bool(let value) = value else { return nil }
        self = value
    }

    /// Reads the property that a ``Managed`` names; nil when there is no value.
    @inlinable
    public static func readOptional(from object: ManagedObject, named name: ManagedName) -> Bool? {
        object.bool(name)
    }

    /// As an attribute's value.
    public var attributeValue: Value { .bool(self) }
}

extension Int64: AttributeConvertible {
    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .int(let value) = value else { return nil }
        self = value
    }

    /// Reads the property that a ``Managed`` names; nil when there is no value.
    @inlinable
    public static func readOptional(from object: ManagedObject, named name: ManagedName) -> Int64? {
        object.int(name)
    }

    /// As an attribute's value.
    public var attributeValue: Value { .int(self) }
}

extension Int: AttributeConvertible {
    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .int(let value) = value else { return nil }
        self = Int(value)
    }

    /// Reads the property that a ``Managed`` names; nil when there is no value.
    @inlinable
    public static func readOptional(from object: ManagedObject, named name: ManagedName) -> Int? {
        object.int(name).map { Int($0) }
    }

    /// As an attribute's value.
    public var attributeValue: Value { .int(Int64(self)) }
}

extension Double: AttributeConvertible {
    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .double(let value) = value else { return nil }
        self = value
    }

    /// Reads the property that a ``Managed`` names; nil when there is no value.
    @inlinable
    public static func readOptional(from object: ManagedObject, named name: ManagedName) -> Double?
    {
        object.double(name)
    }

    /// As an attribute's value.
    public var attributeValue: Value { .double(self) }
}

extension Decimal: AttributeConvertible {
    /// What a property shows when there is no value.
    public static var zero: Decimal { Decimal() }

    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .decimal(let value) = value else { return nil }
        self = value
    }

    /// As an attribute's value.
    public var attributeValue: Value { .decimal(self) }
}

extension String: AttributeConvertible {
    /// What a property shows when there is no value.
    public static var zero: String { "" }

    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .string(let value) = value else { return nil }
        self = value
    }

    /// Reads the property that a ``Managed`` names; nil when there is no value.
    @inlinable
    public static func readOptional(from object: ManagedObject, named name: ManagedName) -> String?
    {
        object.text(name)
    }

    /// As an attribute's value.
    public var attributeValue: Value { .string(self) }
}

extension Date: AttributeConvertible {
    /// What a property shows when there is no value.
    public static var zero: Date { Date(timeIntervalSince1970: 0) }

    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .date(let value) = value else { return nil }
        self = Date(timeIntervalSince1970: value)
    }

    /// Reads the property that a ``Managed`` names; nil when there is no value.
    @inlinable
    public static func readOptional(from object: ManagedObject, named name: ManagedName) -> Date? {
        object.date(name).map { Date(timeIntervalSince1970: $0) }
    }

    /// As an attribute's value.
    public var attributeValue: Value { .date(timeIntervalSince1970) }
}

extension Data: AttributeConvertible {
    /// What a property shows when there is no value.
    public static var zero: Data { Data() }

    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .data(let value) = value else { return nil }
        self = Data(value)
    }

    /// As an attribute's value.
    public var attributeValue: Value { .data(Array(self)) }
}

extension UUID: AttributeConvertible {
    /// What a property shows when there is no value.
    public static var zero: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }

    /// The value as this type; nil when it is null or of another type.
    public init?(attribute value: Value) {
        guard case .uuid(let value) = value else { return nil }
        self = value
    }

    /// As an attribute's value.
    public var attributeValue: Value { .uuid(self) }
}

extension URL: OptionalManagedValue {
    /// Reads the property of an object; nil when there is no URL.
    public static func readOptional(
        from object: ManagedObject, _ property: CompiledProperty
    ) -> URL? {
        guard case .url(let text) = object[property] else { return nil }
        return URL(string: text)
    }

    /// Writes the property of an object.
    public static func writeOptional(
        _ value: URL?, to object: ManagedObject, _ property: CompiledProperty
    ) {
        object[property] = value.map { .url($0.absoluteString) } ?? .null
    }
}
