import FoundationEssentials

/// An encoder of tuples of values as bytes that sort like the tuples.
///
/// Index keys in the store and sort keys in lists are encoded this way. Null sorts before all
/// values, and therefore last in descending order. Integers, doubles and dates sort numerically,
/// texts by code point, false before true, and references by object number. In a descending
/// component all bytes are inverted.
package struct KeyEncoder: Sendable {
    /// The key so far.
    package private(set) var bytes: [UInt8] = []

    /// Creates an empty key with room for `capacity` bytes.
    package init(capacity: Int = 48) { bytes.reserveCapacity(capacity) }

    /// Creates a key that begins with `prefix`.
    package init(prefix: [UInt8]) { bytes = prefix }

    /// Appends a value.
    package mutating func append(_ value: PropertyValue, ascending: Bool = true) {
        let start = bytes.count
        appendAscending(value)
        if !ascending { invert(from: start) }
    }

    /// Appends an already folded text, or any other bytes that sort as they are.
    package mutating func append(bytes content: some Sequence<UInt8>, ascending: Bool = true) {
        let start = bytes.count
        bytes.append(1)
        appendEscaped(content)
        if !ascending { invert(from: start) }
    }

    /// Appends a slot of a row without decoding its text.
    package mutating func append(
        _ slot: Int, of row: Row, in entity: CompiledEntity, ascending: Bool = true
    ) {
        row.withView { append(slot, of: $0, in: entity, ascending: ascending) }
    }

    /// Appends a slot of a borrowed row.
    package mutating func append(
        _ slot: Int, of row: RowView, in entity: CompiledEntity, ascending: Bool = true
    ) {
        let start = bytes.count
        if entity.layout.columns[slot]?.storage != .decimal,
            let content = row.content(slot, in: entity)
        {
            bytes.append(1)
            appendEscaped(content)
        } else {
            appendAscending(row.value(slot, in: entity))
        }
        if !ascending { invert(from: start) }
    }

    /// Appends a component that is already encoded.
    package mutating func append(encoded component: [UInt8]) { bytes += component }

    /// Appends eight bytes, most significant first.
    package mutating func append(number: UInt64) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends two bytes, most significant first.
    package mutating func append(tag: UInt16) {
        withUnsafeBytes(of: tag.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Removes all bytes, but keeps the capacity for another key.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Removes the bytes after the first `count`.
    package mutating func cut(to count: Int) {
        if bytes.count > count { bytes.removeLast(bytes.count - count) }
    }

    private mutating func appendAscending(_ value: PropertyValue) {
        bytes.append(value.isNull ? 0 : 1)
        switch value {
        case .null: break
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int(let value): append(number: UInt64(bitPattern: value) ^ (1 << 63))
        case .double(let value), .date(let value): append(number: KeyEncoder.order(value))
        case .decimal(let value): appendDecimal(value)
        case .string(let value) where value.utf8.count > BlobReference.inlineLimit:
            appendEscaped(TextReference(of: value).bytes)
        case .string(let value), .url(let value): appendEscaped(value.utf8)
        case .longText(let value): appendEscaped(value.bytes)
        case .data, .blob: appendEscaped(value.dataBytes ?? [])
        case .uuid(let value): withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
        case .reference(let value): append(number: value.number)
        }
    }

    /// Appends bytes and an end mark, so that a text sorts before any longer text with the same
    /// beginning.
    ///
    /// A zero byte is encoded as 00 FF, the end as 00 00.
    private mutating func appendEscaped(_ content: some Sequence<UInt8>) {
        let isWhole = content.withContiguousStorageIfAvailable { content in
            if content.contains(0) { return false }
            bytes.append(contentsOf: content)
            return true
        }
        for byte in content where isWhole != true {
            bytes.append(byte)
            if byte == 0 { bytes.append(0xff) }
        }
        bytes.append(0)
        bytes.append(0)
    }

    private mutating func invert(from start: Int) {
        bytes.withUnsafeMutableBufferPointer { bytes in
            for index in start..<bytes.count { bytes[index] = ~bytes[index] }
        }
    }

    /// Returns the bits of a double, transformed so that they sort numerically; both zeros have
    /// equal bits.
    private static func order(_ value: Double) -> UInt64 {
        let bits = (value == 0 ? 0.0 : value).bitPattern
        return bits >> 63 == 0 ? bits | (1 << 63) : ~bits
    }

    /// Appends a decimal: sign, biased exponent, bytes with two digits each plus one, and an end
    /// mark.
    ///
    /// For a negative number, all bytes except the sign are inverted.
    private mutating func appendDecimal(_ value: Decimal) {
        guard value != 0 else { return bytes.append(1) }
        let isNegative = value < 0
        bytes.append(isNegative ? 0 : 2)
        let start = bytes.count
        let (digits, exponent) = KeyEncoder.scientific(value)
        append(tag: UInt16(exponent + 0x4000))
        for pair in stride(from: 0, to: digits.count, by: 2) {
            let low = pair + 1 < digits.count ? digits[pair + 1] : 0
            bytes.append(digits[pair] * 10 + low + 1)
        }
        bytes.append(0)
        if isNegative { invert(from: start) }
    }

    /// Returns the digits without leading and trailing zeros, and the index of the decimal point
    /// relative to the first digit.
    private static func scientific(_ value: Decimal) -> ([UInt8], Int) {
        var text = Substring(value.description)
        if text.hasPrefix("-") { text = text.dropFirst() }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        var digits = parts.flatMap { $0.utf8.map { $0 &- 0x30 } }
        var exponent = parts.first?.utf8.count ?? 0
        while digits.first == 0 {
            digits.removeFirst()
            exponent -= 1
        }
        while digits.last == 0 { digits.removeLast() }
        return (digits, exponent)
    }
}
