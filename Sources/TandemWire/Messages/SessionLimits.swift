package import TandemModel

/// The limits that a client has to observe; part of the welcome.
///
/// A daemon may be configured with limits other than those of ``WireLimits``, but never with larger
/// frames or messages. A request that exceeds a limit is refused with `limitExceeded`; a frame or
/// message that is too large closes the connection.
package struct SessionLimits: WireCodable {
    /// The largest payload of a frame from the client, in bytes.
    package var frameBytes: Int
    /// The largest payload of a message from the client over all its frames, in bytes.
    package var messageBytes: Int
    /// The largest number of requests in flight.
    package var requestsInFlight: Int
    /// The largest number of open controllers of the connection, and of items in one verdict
    /// request.
    package var controllers: Int

    /// Creates limits; the defaults are those of a daemon without other settings.
    package init(
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
    package func encode(into writer: inout ByteWriter) {
        for value in [frameBytes, messageBytes, requestsInFlight, controllers] {
            writer.uint32(UInt32(clamping: value))
        }
    }

    /// Reads the binary form; throws `CodingError` if it is invalid or has a limit of 0.
    package init(from reader: inout ByteReader) throws(CodingError) {
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
