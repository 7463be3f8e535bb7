/// A writer that appends little-endian fields to a byte string, used for all binary formats.
@usableFromInline package struct ByteWriter: Sendable {
    /// The bytes written so far.
    @usableFromInline package var bytes: [UInt8] = []

    /// Creates an empty writer with room for `capacity` bytes.
    package init(capacity: Int = 0) {
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    /// Reserves room for `more` bytes before many small fields are appended.
    package mutating func reserve(_ more: Int) { bytes.reserveCapacity(bytes.count + more) }

    /// The number of bytes written so far.
    @inlinable package var count: Int { bytes.count }

    /// Appends one byte.
    @inlinable package mutating func uint8(_ value: UInt8) { bytes.append(value) }

    /// Appends a fixed-width integer, least significant byte first.
    @inlinable
    package mutating func fixed<T: FixedWidthInteger>(_ value: T) {
        filled(MemoryLayout<T>.size) { $0.storeBytes(of: value.littleEndian, as: T.self) }
    }

    /// Appends one byte and a fixed-width integer, at little more than the cost of appending one.
    @inlinable
    package mutating func tagged<T: FixedWidthInteger>(_ tag: UInt8, _ value: T) {
        filled(1 + MemoryLayout<T>.size) {
            $0.storeBytes(of: tag, as: UInt8.self)
            $0.storeBytes(of: value.littleEndian, toByteOffset: 1, as: T.self)
        }
    }

    /// Appends `size` bytes; `fill` has to set each of them.
    @inlinable @inline(__always)
    package mutating func filled(_ size: Int, _ fill: (UnsafeMutableRawPointer) -> Void) {
        bytes.append(addingCapacity: size) { span in
            span.withUnsafeMutableBufferPointer { room, count in
                guard let start = room.baseAddress else { return }
                fill(UnsafeMutableRawPointer(start + count))
                count += size
            }
        }
    }

    /// Overwrites bytes written before with a fixed-width integer.
    @inlinable
    package mutating func set<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
        precondition(offset + MemoryLayout<T>.size <= count, "Only written bytes can be set.")
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
        }
    }

    /// Appends two bytes.
    @inlinable package mutating func uint16(_ value: UInt16) { fixed(value) }

    /// Appends four bytes.
    @inlinable package mutating func uint32(_ value: UInt32) { fixed(value) }

    /// Appends eight bytes.
    @inlinable package mutating func uint64(_ value: UInt64) { fixed(value) }

    /// Appends eight bytes, two's complement.
    @inlinable package mutating func int64(_ value: Int64) { fixed(value) }

    /// Appends the bit pattern of a double, eight bytes.
    @inlinable package mutating func double(_ value: Double) { fixed(value.bitPattern) }

    /// Appends an unsigned LEB128 varint: one byte below 128, at most ten.
    @inlinable
    package mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Returns the size of a count or length as a varint, in bytes.
    static func varintBytes(_ value: Int) -> Int {
        max(1, (Int.bitWidth - value.leadingZeroBitCount + 6) / 7)
    }

    /// Appends a count or a length as a varint.
    @inlinable package mutating func count(_ value: Int) { varint(UInt64(value)) }

    /// Appends bytes as they are, without a length.
    @inlinable package mutating func raw(_ value: some Sequence<UInt8>) {
        bytes.append(contentsOf: value)
    }

    /// Appends a length and the bytes.
    @inlinable
    package mutating func blob(_ value: [UInt8]) {
        count(value.count)
        bytes.append(contentsOf: value)
    }

    /// Appends a length and the UTF-8 of a string.
    @inlinable
    package mutating func string(_ value: String) {
        if value.isEmpty { return uint8(0) }
        var copy = value
        copy.withUTF8 {
            count($0.count)
            bytes.append(contentsOf: $0)
        }
    }

    /// Appends a Boolean as one byte, 0 or 1.
    @inlinable package mutating func bool(_ value: Bool) { uint8(value ? 1 : 0) }
}
