public import FoundationEssentials

/// The value of an attribute or of a to-one relationship.
///
/// Dates are numbers of seconds since 1970, and URLs are texts, so that values are compared in the
/// same way in the daemon and in all clients.
public enum PropertyValue: Hashable, Sendable {
    /// No value.
    case null
    /// A Boolean.
    case bool(Bool)
    /// A 64-bit integer.
    case int(Int64)
    /// A double; NaN is rejected on input.
    case double(Double)
    /// A decimal number of up to 38 digits.
    case decimal(Decimal)
    /// A text.
    case string(String)
    /// Seconds since 1970-01-01 00:00 UTC.
    case date(Double)
    /// Bytes.
    case data([UInt8])
    /// A reference to data that is too long for a row.
    case blob(BlobReference)
    /// A reference to a text that is too long for a row.
    case longText(TextReference)
    /// A UUID.
    case uuid(UUID)
    /// A URL, as its text.
    case url(String)
    /// The object at the end of a to-one relationship.
    case reference(ObjectReference)

    /// Whether two values are equal; texts are compared by code points, as predicates compare them.
    ///
    /// `String`'s `==` also equates canonically equivalent texts, such as "é" as one code point and
    /// as two.
    public static func == (a: PropertyValue, b: PropertyValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)), (.date(let a), .date(let b)): a == b
        case (.decimal(let a), .decimal(let b)): a == b
        case (.string(let a), .string(let b)), (.url(let a), .url(let b)):
            a == b && a.utf8.elementsEqual(b.utf8)
        case (.data(let a), .data(let b)): a == b
        case (.blob(let a), .blob(let b)): a == b
        case (.longText(let a), .longText(let b)): a == b
        case (.uuid(let a), .uuid(let b)): a == b
        case (.reference(let a), .reference(let b)): a == b
        default: false
        }
    }

    /// Whether the value is ``null``.
    @inlinable
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The reference, or nil for any other value.
    @inlinable
    package var reference: ObjectReference? {
        if case .reference(let reference) = self { reference } else { nil }
    }

    /// The type of attributes with this value; nil for null and references.
    public var type: AttributeType? {
        switch self {
        case .null, .reference: nil
        case .bool: .bool
        case .int: .int
        case .double: .double
        case .decimal: .decimal
        case .string, .longText: .string
        case .date: .date
        case .data, .blob: .data
        case .uuid: .uuid
        case .url: .url
        }
    }

    /// The value as stored in rows: data and texts beyond ``BlobReference/inlineLimit`` as
    /// references.
    ///
    /// Cost: a SHA-256 of such a value.
    package var inRow: PropertyValue {
        switch self {
        case .data(let bytes) where bytes.count > BlobReference.inlineLimit:
            .blob(BlobReference(of: bytes))
        case .string(let text) where text.utf8.count > BlobReference.inlineLimit:
            .longText(TextReference(of: text))
        default: self
        }
    }

    /// Whether the value is a reference to content stored outside the row.
    var isOutside: Bool {
        switch self {
        case .blob, .longText: true
        default: false
        }
    }

    /// The reference to content stored outside the row; nil for all other values.
    package var outside: BlobReference? {
        switch self {
        case .blob(let blob): blob
        case .longText(let text): text.blob
        default: nil
        }
    }

    /// Returns the value with its content, which was fetched by the reference ``outside``.
    @usableFromInline package func whole(_ content: [UInt8]) -> PropertyValue {
        if case .longText = self { return .string(String(decoding: content, as: UTF8.self)) }
        return .data(content)
    }

    /// The bytes by which data is compared: the content, or the reference if it is stored outside
    /// the row.
    package var dataBytes: [UInt8]? {
        switch inRow {
        case .data(let bytes): bytes
        case .blob(let reference): reference.bytes
        default: nil
        }
    }
}

/// The type of an attribute.
public enum AttributeType: String, Hashable, Sendable, CaseIterable {
    /// True or false.
    case bool
    /// 64-bit integer.
    case int
    /// 64-bit binary floating point.
    case double
    /// Decimal floating point of up to 38 digits.
    case decimal
    /// Text, compared by code point.
    case string
    /// Seconds since 1970.
    case date
    /// Bytes.
    case data
    /// 128-bit identifier.
    case uuid
    /// URL text.
    case url
}

extension PropertyValue {
    /// Appends the value's binary form: a tag byte and the content.
    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .null: writer.uint8(0)
        case .bool(let value):
            writer.uint8(1)
            writer.bool(value)
        case .int(let value):
            writer.tagged(2, value)
        case .double(let value):
            writer.tagged(3, value.bitPattern)
        case .decimal(let value):
            writer.uint8(4)
            writer.string(value.description)
        case .string(let value):
            writer.uint8(5)
            writer.string(value)
        case .date(let value):
            writer.tagged(6, value.bitPattern)
        case .data(let value):
            writer.uint8(7)
            writer.blob(value)
        case .uuid(let value):
            writer.uint8(8)
            withUnsafeBytes(of: value.uuid) { writer.raw($0) }
        case .url(let value):
            writer.uint8(9)
            writer.string(value)
        case .reference(let value):
            writer.uint8(10)
            writer.uint16(value.tag)
            writer.uint64(value.number)
        case .blob(let value):
            writer.uint8(11)
            writer.raw(value.bytes)
        case .longText(let value):
            writer.uint8(12)
            writer.raw(value.bytes)
        }
    }

    /// Reads a value's binary form or throws ``CodingError``.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        switch try reader.uint8() {
        case 0: self = .null
        case 1: self = .bool(try reader.bool())
        case 2: self = .int(try reader.int64())
        case 3: self = .double(try reader.double())
        case 4:
            guard let value = Decimal(string: try reader.string()) else {
                throw CodingError(expected: "a decimal number", offset: start)
            }
            self = .decimal(value)
        case 5: self = .string(try reader.string())
        case 6: self = .date(try reader.double())
        case 7: self = .data(try reader.blob())
        case 8: self = .uuid(UUID(bytes: try reader.raw(16)))
        case 9: self = .url(try reader.string())
        case 10:
            let tag = try reader.uint16()
            self = .reference(ObjectReference(tag: tag, number: try reader.uint64()))
        case 11: self = .blob(try BlobReference(from: &reader))
        case 12: self = .longText(try TextReference(from: &reader))
        default: throw CodingError(expected: "a value", offset: start)
        }
    }
}

extension UUID {
    /// Creates a UUID from exactly 16 bytes.
    init(bytes: [UInt8]) {
        precondition(bytes.count == 16, "A UUID has 16 bytes.")
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
