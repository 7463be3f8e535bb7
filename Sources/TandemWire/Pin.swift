public import TandemModel

/// Takes, moves or gives up a pin: a position at which a client goes on reading while others save.
///
/// A pin is a lease. It holds back what retention would give up of the journal, ends after a time and with its
/// connection, and reads name it (``Fetch/lease``, ``Read/lease``).
public struct PinRequest: WireCodable {
    /// The pin's number, which the client chooses; not 0.
    public var lease: UInt32
    /// Where it is from now on, for the whole time again; 0 gives it up.
    public var position: UInt64

    /// A request about the pin `lease`.
    public init(lease: UInt32, position: UInt64) {
        self.lease = lease
        self.position = position
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint32(lease)
        writer.uint64(position)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        lease = try reader.uint32()
        position = try reader.uint64()
    }
}

/// The answer to ``PinRequest``.
public struct PinAnswer: WireCodable {
    /// Where the pin is; 0 when it was given up.
    public var position: UInt64
    /// Seconds until it ends if it is not moved.
    public var seconds: UInt64

    /// An answer of the given content.
    public init(position: UInt64, seconds: UInt64) {
        self.position = position
        self.seconds = seconds
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.uint64(seconds)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        seconds = try reader.uint64()
    }
}
