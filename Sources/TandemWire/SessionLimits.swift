public import TandemModel

/// What a daemon asks a client to keep to; part of the welcome.
///
/// A daemon may be configured to take less than ``WireLimits`` allows, never more frames or bytes
/// than the protocol knows. Who does not keep to it is refused with `limitExceeded`, or, where a
/// frame or message is too large, disconnected.
public struct SessionLimits: WireCodable {
    /// The payload of one frame from the client.
    public var frameBytes: Int
    /// The payload of one message from the client, in all its frames.
    public var messageBytes: Int
    /// Requests without an answer.
    public var requestsInFlight: Int
    /// Open controllers of the connection, and questions in one verdict request.
    public var controllers: Int

    /// The limits of a daemon that was not told otherwise.
    public init(
        frameBytes: Int = WireLimits.frameBytes,
        messageBytes: Int = WireLimits.clientMessageBytes,
        requestsInFlight: Int = WireLimits.requestsInFlight,
        controllers: Int = WireLimits.controllers
    ) {
        self.frameBytes = frameBytes
        self.messageBytes = messageBytes
        self.requestsInFlight = requestsInFlight
        self.controllers = controllers
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        for value in [frameBytes, messageBytes, requestsInFlight, controllers] {
            writer.uint32(UInt32(clamping: value))
        }
    }

    /// Reads the binary form or throws `CodingError`, also for a limit of 0.
    public init(from reader: inout ByteReader) throws(CodingError) {
        frameBytes = try Self.limit(&reader)
        messageBytes = try Self.limit(&reader)
        requestsInFlight = try Self.limit(&reader)
        controllers = try Self.limit(&reader)
    }

    private static func limit(_ reader: inout ByteReader) throws(CodingError) -> Int {
        let start = reader.offset
        let value = Int(try reader.uint32())
        guard value > 0 else { throw CodingError(expected: "a limit above 0", offset: start) }
        return value
    }
}
