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

/// The rules of one message type: a row of the message table.
package struct MessageRules: Hashable, Sendable {
    /// The rule for the request id in the message's frames.
    package var requestID: RequestIDRule
    /// The largest payload in bytes.
    package var maximumBytes: Int
    /// Whether the message is a request that only reads and may therefore be cancelled.
    package var isReadOnly = false
}

/// The message types in one direction, with the type bytes as raw values.
///
/// Together with ``rules`` they form the message table, by which frames are encoded and checked.
package protocol MessageKind: RawRepresentable<UInt8>, CaseIterable, Hashable, Sendable {
    /// The rules for messages of this type.
    var rules: MessageRules { get }
}

/// The messages in one direction.
package protocol WireMessage: Hashable, Sendable {
    /// The message types of the direction.
    associatedtype Kind: MessageKind

    /// The type of the message.
    var kind: Kind { get }

    /// Appends the payload.
    func encodePayload(into writer: inout ByteWriter)

    /// Reads the payload of a message of a type, up to the reader's end.
    init(_ kind: Kind, from reader: inout ByteReader) throws(CodingError)
}

extension WireMessage {
    /// The type byte.
    package var type: UInt8 { kind.rawValue }

    /// Reads the payload of a message with a type byte, up to the reader's end.
    ///
    /// Throws `CodingError` for an unknown type and for a malformed payload.
    package init(type: UInt8, from reader: inout ByteReader) throws(CodingError) {
        guard let kind = Kind(rawValue: type) else {
            throw CodingError(expected: "a known message type", offset: reader.offset)
        }
        try self.init(kind, from: &reader)
    }
}
