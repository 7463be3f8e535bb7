package import TandemModel

/// A request to take, move or release a pin: a position at which a client keeps reading while
/// others save.
///
/// A pin is a lease: while it lasts, retention keeps the segments that it needs. It ends after a
/// limited time, or with its connection. Reads refer to it by ``Fetch/lease`` and ``Read/lease``.
package struct PinRequest: WireCodable {
    /// The pin's number, which the client chooses; not 0.
    package var lease: UInt32
    /// The new position of the pin, whose duration starts again; 0 releases the pin.
    package var position: UInt64

    /// Creates a request about the pin `lease`.
    package init(lease: UInt32, position: UInt64) {
        self.lease = lease
        self.position = position
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint32(lease)
        writer.uint64(position)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        lease = try reader.uint32()
        position = try reader.uint64()
    }
}

/// The answer to ``PinRequest``.
package struct PinAnswer: WireCodable {
    /// The position of the pin; 0 if it was released.
    package var position: UInt64
    /// The seconds until the pin ends, unless it is moved.
    package var seconds: UInt64

    /// Creates an answer with the given content.
    package init(position: UInt64, seconds: UInt64) {
        self.position = position
        self.seconds = seconds
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.uint64(seconds)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        seconds = try reader.uint64()
    }
}
