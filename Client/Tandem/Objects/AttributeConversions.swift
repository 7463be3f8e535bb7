import FoundationEssentials
public import TandemModel

// Default implementations for most types, so that a conformance is one line.

extension AttributeConvertible where Self: RawRepresentable, RawValue: AttributeConvertible {
    /// Creates the value whose raw value is stored in an attribute.
    ///
    /// Returns nil if the attribute is null or has a different type, or if this type has no such
    /// raw value.
    public init?(attribute value: PropertyValue) {
        guard let raw = RawValue(attribute: value) else { return nil }
        self.init(rawValue: raw)
    }

    /// The raw value as an attribute value.
    public var attributeValue: PropertyValue { rawValue.attributeValue }
}

extension AttributeConvertible
where Self: RawRepresentable & CaseIterable, RawValue: AttributeConvertible {
    /// The first case: the value of a non-optional property that has no stored value.
    public static var zero: Self {
        guard let first = allCases.first else { fatalError("\(Self.self) has no case.") }
        return first
    }
}

extension AttributeConvertible where Self: OptionSet {
    /// The empty set: the value of a non-optional property that has no stored value.
    public static var zero: Self { [] }
}

/// A Codable type whose values are stored in a string attribute, as JSON.
///
///     struct Address: CodableAttribute {
///         var street = "", town = ""
///         static let zero = Address()
///     }
///     Attribute("home", .string)
///     @Managed("home") var home: Address?
///
/// Use it for small values that are read and written as a whole. Predicates can only compare whole
/// values: to search or sort by a part of the value, declare an attribute for that part. The keys
/// are sorted, so equal values are stored as equal strings. A string that can't be decoded is
/// treated like an unknown raw value (``AttributeConvertible``). Assigning a value that JSON can't
/// represent, such as a double that is not finite, traps.
public protocol CodableAttribute: AttributeConvertible, Codable {}

extension CodableAttribute {
    /// Decodes a value; returns nil if the attribute is null, has a different type, or can't be
    /// decoded.
    public init?(attribute value: PropertyValue) {
        guard case .string(let text) = value,
            let decoded = try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
        else { return nil }
        self = decoded
    }

    /// The value as JSON.
    public var attributeValue: PropertyValue {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return .string(String(decoding: try encoder.encode(self), as: UTF8.self))
        } catch {
            fatalError("\(self) cannot be stored as JSON: \(error)")
        }
    }
}
