/// A decoding error, with a description of the expected content and its offset.
@usableFromInline package struct CodingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A description of the expected content.
    package var expected: String
    /// The offset in the byte string that was being decoded.
    package var offset: Int

    /// Creates an error at `offset`.
    @usableFromInline package init(expected: String, offset: Int) {
        self.expected = expected
        self.offset = offset
    }

    /// One line for a log.
    @usableFromInline package var description: String {
        "damaged bytes at offset \(offset): expected \(expected)"
    }
}

/// A reader of bytes written by ``ByteWriter``, which never reads beyond the end and never traps on
/// damaged bytes.
///
/// Every length is compared with the number of remaining bytes before anything is allocated.
@usableFromInline package struct ByteReader: Sendable {
    /// The bytes being read.
    @usableFromInline package let bytes: [UInt8]
    /// The offset of the next field.
    @usableFromInline package var offset: Int { position }
    @usableFromInline var position: Int
    /// The offset at which reading stops.
    @usableFromInline package let end: Int

    /// Creates a reader of a whole byte string.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = 0
        end = bytes.count
    }

    /// Creates a reader of part of a byte string; the range is clamped to its bounds.
    package init(_ bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        let part = range.clamped(to: 0..<bytes.count)
        position = part.lowerBound
        end = part.upperBound
    }

    /// The number of remaining bytes.
    @inlinable package var remaining: Int { end - offset }

    /// Whether everything has been read.
    @inlinable package var isAtEnd: Bool { offset == end }

    /// Consumes `count` bytes and returns their range, or throws without consuming any.
    @inlinable
    package mutating func consume(
        _ count: Int, _ expected: @autoclosure () -> String
    ) throws(CodingError) -> Range<Int> {
        guard count >= 0, count <= end - position else {
            throw CodingError(expected: expected(), offset: position)
        }
        defer { position += count }
        return position..<(position + count)
    }

    /// Reads a fixed-width integer.
    @inlinable
    package mutating func fixed<T: FixedWidthInteger>(_ type: T.Type) throws(CodingError) -> T {
        let start = position
        guard MemoryLayout<T>.size <= end - start else { throw missing(T.self) }
        position = start + MemoryLayout<T>.size
        return bytes.withUnsafeBytes {
            T(littleEndian: $0.loadUnaligned(fromByteOffset: start, as: T.self))
        }
    }

    @usableFromInline
    func missing<T>(_ type: T.Type) -> CodingError {
        CodingError(expected: "\(T.self)", offset: position)
    }

    /// Reads one byte.
    @inlinable
    package mutating func uint8() throws(CodingError) -> UInt8 { try fixed(UInt8.self) }

    /// Reads two bytes.
    @inlinable
    package mutating func uint16() throws(CodingError) -> UInt16 { try fixed(UInt16.self) }

    /// Reads four bytes.
    @inlinable
    package mutating func uint32() throws(CodingError) -> UInt32 { try fixed(UInt32.self) }

    /// Reads eight bytes.
    @inlinable
    package mutating func uint64() throws(CodingError) -> UInt64 { try fixed(UInt64.self) }

    /// Reads eight bytes, two's complement.
    @inlinable
    package mutating func int64() throws(CodingError) -> Int64 { try fixed(Int64.self) }

    /// Reads the bit pattern of a double.
    @inlinable
    package mutating func double() throws(CodingError) -> Double {
        Double(bitPattern: try fixed(UInt64.self))
    }

    /// Reads a LEB128 varint of at most ten bytes.
    @inlinable
    package mutating func varint() throws(CodingError) -> UInt64 {
        let start = position
        if start < end {
            let first = bytes[start]
            if first < 0x80 {
                position = start + 1
                return UInt64(first)
            }
        }
        return try longVarint()
    }

    @usableFromInline
    mutating func longVarint() throws(CodingError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64 {
            let byte = try uint8()
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw CodingError(expected: "a varint of at most ten bytes", offset: offset)
    }

    /// Reads a count of items that take at least `itemBytes` bytes each.
    ///
    /// Throws if the remaining bytes are too few for that many items.
    package mutating func count(itemBytes: Int = 1) throws(CodingError) -> Int {
        let start = offset
        let value = try varint()
        guard value <= UInt64(remaining / max(1, itemBytes)) else {
            throw CodingError(expected: "a count that fits the rest", offset: start)
        }
        return Int(value)
    }

    /// Reads `count` bytes as they are.
    package mutating func raw(_ count: Int) throws(CodingError) -> [UInt8] {
        let range = try consume(count, "\(count) bytes")
        return bytes.withUnsafeBytes { Array($0[range]) }
    }

    /// Reads a length and that many bytes.
    @usableFromInline
    package mutating func blob() throws(CodingError) -> [UInt8] { try raw(try count()) }

    /// Reads a length and that many bytes of UTF-8; throws if they are not UTF-8.
    package mutating func string() throws(CodingError) -> String {
        let start = offset
        let range = try consume(try count(), "a string")
        if range.isEmpty { return "" }
        guard let text = try? UTF8Span(validating: bytes.span.extracting(range)) else {
            throw CodingError(expected: "UTF-8", offset: start)
        }
        return String(copying: text)
    }

    /// Reads a Boolean; only 0 and 1 are accepted.
    @inlinable
    package mutating func bool() throws(CodingError) -> Bool {
        let start = offset
        switch try uint8() {
        case 0: return false
        case 1: return true
        default: throw CodingError(expected: "0 or 1", offset: start)
        }
    }

    /// Throws unless everything has been read.
    package func expectEnd(_ what: String) throws(CodingError) {
        guard isAtEnd else { throw CodingError(expected: "the end of \(what)", offset: offset) }
    }
}
