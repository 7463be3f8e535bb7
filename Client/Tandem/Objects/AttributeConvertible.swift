public import FoundationEssentials
public import TandemModel

/// A Swift type that converts to and from attribute values.
///
/// The store may hold a value that the type can't represent, such as a raw value that a later
/// version of the app added to an enum. An optional property reads it as nil. Any other property
/// reads as the default of its ``TandemModel/Attribute``, or as ``zero`` if there is no default. In
/// that case, ``ManagedObjectContext/faultFailure`` names the value once, and saves with edits to
/// the object throw `unreadable`. Saves succeed again after the edits are rolled back, or after
/// another save sets a value that the type can represent.
///
///     enum Level: Int, CaseIterable, AttributeConvertible { case low, high }
///     @Managed("level") var level: Level?         // nil for a level that this version does not know
///
/// Enums and option sets with raw values only have to declare the conformance; an enum that is not
/// `CaseIterable` also declares ``zero``. ``CodableAttribute`` stores values as JSON.
public protocol AttributeConvertible: ManagedValue, OptionalManagedValue, PredicateOperand {
    /// Creates a value from an attribute value.
    ///
    /// Returns nil if the attribute value is null, has a different type, or can't be represented by
    /// this type.
    init?(attribute value: PropertyValue)
    /// This value as an attribute value.
    var attributeValue: PropertyValue { get }
    /// The value of a non-optional property that has no stored value.
    static var zero: Self { get }
    /// Reads the attribute of a ``RowReader`` in place, without creating an object.
    ///
    /// Returns a wrapped nil if there is no stored value, and nil if the value has to be read
    /// through the object. The default implementation converts the attribute's value.
    static func _inPlace(_ attribute: _RowAttribute) -> Self??
}

extension AttributeConvertible {
    /// Reads the property named by a ``Managed``.
    @inlinable
    public static func _read(from object: ManagedObject, named name: _ManagedName) -> Self {
        _readOptional(from: object, named: name)
            ?? object.substitute(for: name, Self.self).flatMap(Self.init(attribute:)) ?? zero
    }

    /// Writes the property named by a ``Managed``.
    public func _write(to object: ManagedObject, named name: _ManagedName) {
        object[object.property(name)] = attributeValue
    }

    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    @inlinable
    public static func _readOptional(from object: ManagedObject, named name: _ManagedName) -> Self?
    {
        Self(attribute: object.value(name))
    }

    /// Writes the property named by a ``Managed``.
    public static func _writeOptional(
        _ value: Self?, to object: ManagedObject, named name: _ManagedName
    ) {
        object[object.property(name)] = value?.attributeValue ?? .null
    }

    /// Reads the attribute of a ``RowReader`` in place.
    public static func _inPlace(_ attribute: _RowAttribute) -> Self?? {
        attribute.converted { Self(attribute: $0) }
    }
}

extension Bool: AttributeConvertible {
    /// The value of a non-optional property that has no stored value.
    public static var zero: Bool { false }

    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .bool(let value) = value else { return nil }
        self = value
    }

    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    @inlinable
    public static func _readOptional(from object: ManagedObject, named name: _ManagedName) -> Bool?
    {
        object.bool(name)
    }

    /// Reads the attribute of a ``RowReader`` in place.
    @inlinable
    public static func _inPlace(_ attribute: _RowAttribute) -> Bool?? { attribute.bool() }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .bool(self) }
}

extension Int64: AttributeConvertible {
    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .int(let value) = value else { return nil }
        self = value
    }

    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    @inlinable
    public static func _readOptional(from object: ManagedObject, named name: _ManagedName) -> Int64?
    {
        object.int(name)
    }

    /// Reads the attribute of a ``RowReader`` in place.
    @inlinable
    public static func _inPlace(_ attribute: _RowAttribute) -> Int64?? { attribute.int() }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .int(self) }
}

extension Int: AttributeConvertible {
    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .int(let value) = value else { return nil }
        self = Int(value)
    }

    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    @inlinable
    public static func _readOptional(from object: ManagedObject, named name: _ManagedName) -> Int? {
        object.int(name).map { Int($0) }
    }

    /// Reads the attribute of a ``RowReader`` in place.
    @inlinable
    public static func _inPlace(_ attribute: _RowAttribute) -> Int?? {
        attribute.int().map { $0.map { Int($0) } }
    }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .int(Int64(self)) }
}

extension Double: AttributeConvertible {
    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .double(let value) = value else { return nil }
        self = value
    }

    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    @inlinable
    public static func _readOptional(from object: ManagedObject, named name: _ManagedName)
        -> Double?
    {
        object.double(name)
    }

    /// Reads the attribute of a ``RowReader`` in place.
    @inlinable
    public static func _inPlace(_ attribute: _RowAttribute) -> Double?? { attribute.double() }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .double(self) }
}

extension Decimal: AttributeConvertible {
    /// The value of a non-optional property that has no stored value.
    public static var zero: Decimal { Decimal() }

    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .decimal(let value) = value else { return nil }
        self = value
    }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .decimal(self) }
}

extension String: AttributeConvertible {
    /// The value of a non-optional property that has no stored value.
    public static var zero: String { "" }

    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .string(let value) = value else { return nil }
        self = value
    }

    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    @inlinable
    public static func _readOptional(from object: ManagedObject, named name: _ManagedName)
        -> String?
    {
        object.text(name)
    }

    /// Reads the attribute of a ``RowReader`` in place.
    @inlinable
    public static func _inPlace(_ attribute: _RowAttribute) -> String?? { attribute.text() }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .string(self) }
}

extension Date: AttributeConvertible {
    /// The value of a non-optional property that has no stored value.
    public static var zero: Date { Date(timeIntervalSince1970: 0) }

    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .date(let value) = value else { return nil }
        self = Date(timeIntervalSince1970: value)
    }

    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    @inlinable
    public static func _readOptional(from object: ManagedObject, named name: _ManagedName) -> Date?
    {
        object.date(name).map { Date(timeIntervalSince1970: $0) }
    }

    /// Reads the attribute of a ``RowReader`` in place.
    @inlinable
    public static func _inPlace(_ attribute: _RowAttribute) -> Date?? {
        attribute.date().map { $0.map { Date(timeIntervalSince1970: $0) } }
    }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .date(timeIntervalSince1970) }
}

extension Data: AttributeConvertible {
    /// The value of a non-optional property that has no stored value.
    public static var zero: Data { Data() }

    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .data(let value) = value else { return nil }
        self = Data(value)
    }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .data(Array(self)) }
}

extension UUID: AttributeConvertible {
    /// The value of a non-optional property that has no stored value.
    public static var zero: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }

    /// Creates a value; returns nil if the attribute value is null or has a different type.
    public init?(attribute value: PropertyValue) {
        guard case .uuid(let value) = value else { return nil }
        self = value
    }

    /// This value as an attribute value.
    public var attributeValue: PropertyValue { .uuid(self) }
}

extension URL: OptionalManagedValue {
    /// Reads the property named by a ``Managed``; returns nil if it has no URL.
    public static func _readOptional(
        from object: ManagedObject, named name: _ManagedName
    ) -> URL? {
        guard case .url(let text) = object.value(name) else { return nil }
        return URL(string: text)
    }

    /// Writes the property named by a ``Managed``.
    public static func _writeOptional(
        _ value: URL?, to object: ManagedObject, named name: _ManagedName
    ) {
        object[object.property(name)] = value.map { .url($0.absoluteString) } ?? .null
    }
}
