import TandemModel

/// The constants of a frame: a header of 12 bytes and a payload; see <doc:Protocol>.
package enum Frame {
    /// The offset of the payload's length (4 bytes).
    package static let lengthOffset = 0
    /// The offset of the message type (1 byte).
    package static let typeOffset = lengthOffset + 4
    /// The offset of the flags (1 byte).
    package static let flagsOffset = typeOffset + 1
    /// The offset of the reserved bytes (2 bytes, always 0).
    package static let reservedOffset = flagsOffset + 1
    /// The offset of the request id (4 bytes).
    package static let idOffset = reservedOffset + 2
    /// The length of the header in bytes.
    package static let headerBytes = idOffset + 4
    /// The flag set in every frame of a message except the last.
    package static let moreFlag: UInt8 = 1
}

/// The header of a frame.
package struct FrameHeader: Hashable, Sendable {
    /// The length of the payload, in bytes.
    package var length: UInt32
    /// The type of the message.
    package var type: UInt8
    /// Whether more frames of this message follow.
    package var hasMore: Bool
    /// The request to which the message belongs; 0 for none.
    package var id: UInt32

    /// Creates a header with the given content.
    package init(length: UInt32, type: UInt8, hasMore: Bool = false, id: UInt32) {
        self.length = length
        self.type = type
        self.hasMore = hasMore
        self.id = id
    }

    /// Appends the 12 bytes.
    package func encode(into output: inout [UInt8]) {
        var writer = ByteWriter()
        swap(&writer.bytes, &output)
        writer.filled(Frame.headerBytes) {
            $0.storeBytes(of: length.littleEndian, as: UInt32.self)
            $0.storeBytes(of: type, toByteOffset: Frame.typeOffset, as: UInt8.self)
            let flags = hasMore ? Frame.moreFlag : 0
            $0.storeBytes(of: flags, toByteOffset: Frame.flagsOffset, as: UInt8.self)
            $0.storeBytes(of: 0, toByteOffset: Frame.reservedOffset, as: UInt16.self)
            $0.storeBytes(of: id.littleEndian, toByteOffset: Frame.idOffset, as: UInt32.self)
        }
        swap(&writer.bytes, &output)
    }

    /// Decodes the 12 bytes at `offset`, which must exist.
    ///
    /// Throws ``WireError`` for unknown flags, and for reserved bytes that are not 0.
    init(at offset: Int, of bytes: [UInt8]) throws(WireError) {
        precondition(
            offset >= 0 && offset <= bytes.count - Frame.headerBytes,
            "A frame header has \(Frame.headerBytes) bytes.")
        let fields = bytes.withUnsafeBytes { buffer in
            (
                buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self),
                buffer.loadUnaligned(fromByteOffset: offset + Frame.idOffset, as: UInt32.self)
            )
        }
        length = UInt32(littleEndian: fields.0)
        id = UInt32(littleEndian: fields.1)
        type = bytes[offset + Frame.typeOffset]
        let flags = bytes[offset + Frame.flagsOffset]
        hasMore = flags == Frame.moreFlag
        let reserved = offset + Frame.reservedOffset
        guard flags & ~Frame.moreFlag == 0 else {
            throw WireError(.badFrame, "unknown flags \(flags)", type: type, id: id)
        }
        guard bytes[reserved] | bytes[reserved + 1] == 0 else {
            throw WireError(.badFrame, "reserved bytes are not 0", type: type, id: id)
        }
    }
}
