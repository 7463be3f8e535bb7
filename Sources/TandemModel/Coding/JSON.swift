package import FoundationEssentials

/// A JSON value with exact 64-bit integers.
///
/// Parsing accepts what Foundation's decoder accepts. Printing sorts the keys, so that equal values
/// have equal texts. Scalars that must not reach a terminal (see
/// ``Swift/Unicode/Scalar/isPrintable``) are printed as `\u` escapes.
@usableFromInline package enum JSON: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number that is a 64-bit integer.
    case int(Int64)
    /// Any other number.
    case double(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSON])
    /// An object.
    case object([String: JSON])

    /// Parses a JSON text; throws the errors of Foundation's decoder.
    package init(parsing text: Data) throws {
        self = try JSONDecoder().decode(JSON.self, from: text)
    }

    /// Parses a JSON text; throws the errors of Foundation's decoder.
    package init(parsing text: String) throws {
        var text = text
        if let value = text.withUTF8({ JSONScanner.scan($0) }) {
            self = value
        } else {
            // Foundation's decoder handles rare forms, and throws the error for a text that is not
            // JSON.
            try self.init(parsing: Data(text.utf8))
        }
    }

    /// Returns the value of a key, or nil if there is none or if this is not an object.
    package subscript(key: String) -> JSON? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The string, or nil for any other value.
    @usableFromInline
    package var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The integer, or nil for any other value.
    @usableFromInline
    package var int: Int64? { if case .int(let value) = self { value } else { nil } }

    /// The Boolean, or nil for any other value.
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The elements, or nil for any other value.
    @usableFromInline
    package var array: [JSON]? { if case .array(let value) = self { value } else { nil } }

    /// The members, or nil for any other value.
    package var object: [String: JSON]? { if case .object(let value) = self { value } else { nil } }

    /// The number as a double, integers included, or nil for any other value.
    package var number: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }
}

extension JSON: Codable {
    /// Decodes any JSON value.
    @usableFromInline package init(from decoder: any Decoder) throws {
        // A failed attempt creates an error with a coding path, so the most frequent types are
        // tried first.
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let members = try? decoder.container(keyedBy: Name.self) {
            let pairs = try members.allKeys.map { name in
                (name.stringValue, try members.decode(JSON.self, forKey: name))
            }
            self = .object(Dictionary(pairs) { first, _ in first })
        } else if var elements = try? decoder.unkeyedContainer() {
            var values: [JSON] = []
            while !elements.isAtEnd { values.append(try elements.decode(JSON.self)) }
            self = .array(values)
        } else if container.decodeNil() {
            self = .null
        } else {
            self = try Self.scalar(container)
        }
    }

    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSON {
        if let value = try? container.decode(Int64.self) {
            // Integers have no negative zero, so it is parsed as a double.
            let double = value == 0 ? try? container.decode(Double.self) : nil
            return double?.sign == .minus ? .double(-0.0) : .int(value)
        }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        return .double(try container.decode(Double.self))
    }

    /// The key of a member of an object.
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Encodes the value; ``text`` is faster and has a fixed order of keys.
    @usableFromInline package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSON: CustomStringConvertible {
    /// The JSON text on one line, with sorted keys.
    package var text: String {
        var bytes: [UInt8] = []
        write(into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The one-line JSON text; see ``text``.
    @usableFromInline package var description: String { text }

    /// Appends the one-line text.
    package func write(into bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .int(let value): bytes.append(contentsOf: String(value).utf8)
        case .double(let value): bytes.append(contentsOf: JSON.number(value).utf8)
        case .string(let value): JSON.write(value, into: &bytes)
        case .array(let value): JSON.write(value, into: &bytes)
        case .object(let value): JSON.write(value, into: &bytes)
        }
    }

    /// Returns the text of a number, or `null` for infinities and NaN, which JSON lacks.
    ///
    /// Browsers also write `null`. ``PropertyValue/json`` writes the names of these numbers
    /// instead.
    package static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        return value.description
    }

    private static func write(_ elements: [JSON], into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            element.write(into: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private static func write(_ members: [String: JSON], into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(member.key, into: &bytes)
            bytes.append(UInt8(ascii: ":"))
            member.value.write(into: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends a string with its quotes.
    package static func write(_ string: String, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = string
        text.withUTF8 { escape($0, into: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a text with escapes; ranges without escapes are copied as a whole.
    private static func escape(
        _ text: UnsafeBufferPointer<UInt8>, into bytes: inout [UInt8]
    ) {
        var start = 0
        for (index, byte) in text.enumerated() {
            if byte >= firstLeadByte {
                guard let scalar = scalar(at: index, of: text), !scalar.isPrintable else {
                    continue
                }
                bytes.append(contentsOf: text[start..<index])
                start = index + UTF8.width(scalar)
                escape(scalar, into: &bytes)
                continue
            }
            guard isEscaped(byte) else { continue }
            bytes.append(contentsOf: text[start..<index])
            start = index + 1
            switch byte {
            case UInt8(ascii: "\""): bytes.append(contentsOf: "\\\"".utf8)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
            case 0x0a: bytes.append(contentsOf: "\\n".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0x0d: bytes.append(contentsOf: "\\r".utf8)
            default:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(hexDigit(byte >> 4))
                bytes.append(hexDigit(byte & 15))
            }
        }
        bytes.append(contentsOf: text[start...])
    }

    /// The lowest lead byte of a scalar of several bytes; continuation bytes are lower.
    private static let firstLeadByte: UInt8 = 0xc2

    /// Returns the scalar that begins at an index of valid UTF-8.
    private static func scalar(
        at index: Int, of text: UnsafeBufferPointer<UInt8>
    ) -> Unicode.Scalar? {
        let first = UInt32(text[index])
        func next(_ offset: Int) -> UInt32 { UInt32(text[index + offset] & 0x3f) }
        return switch first {
        case ..<0xe0: Unicode.Scalar((first & 0x1f) << 6 | next(1))
        case ..<0xf0: Unicode.Scalar((first & 0x0f) << 12 | next(1) << 6 | next(2))
        default: Unicode.Scalar((first & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3))
        }
    }

    /// Appends an escape such as `\u202e`, or two of them for a surrogate pair.
    private static func escape(_ scalar: Unicode.Scalar, into bytes: inout [UInt8]) {
        for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
            bytes.append(contentsOf: "\\u".utf8)
            for shift in [12, 8, 4, 0] { bytes.append(hexDigit(UInt8(unit >> shift & 15))) }
        }
    }

    @inline(__always)
    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7f || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
