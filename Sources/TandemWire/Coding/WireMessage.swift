package import TandemModel

/// The rule for the request id in a message's frames.
package enum RequestIDRule: Hashable, Sendable {
    /// The id is 0: the message belongs to no request.
    case zero
    /// The id identifies a request, and is never 0.
    case request
    /// The id is 0 or identifies a request.
    case any
}

/// The messages in one direction.
package protocol WireMessage: Hashable, Sendable {
    /// The type byte.
    var type: UInt8 { get }

    /// Appends the payload.
    func encodePayload(into writer: inout ByteWriter)

    /// Reads the payload of a message of `type`, up to the reader's end.
    init(type: UInt8, from reader: inout ByteReader) throws(CodingError)

    /// Returns the name of a type, as in the message table of <doc:Protocol>; nil for an unknown
    /// type.
    static func name(type: UInt8) -> String?

    /// Returns the largest payload of a type in bytes; nil for an unknown type.
    static func maximumBytes(type: UInt8) -> Int?

    /// Returns the rule for the request id of a type.
    static func requestID(type: UInt8) -> RequestIDRule
}
