public import TandemModel

/// Why bytes from the other side can't be taken, or a message can't be sent.
///
/// After one on receipt the connection is of no more use: tell the peer (``tandemError``) and close
/// it.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of violation it is.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A header breaks the rules: flags, reserved bits, id, or an empty part.
        case badFrame
        /// A frame's payload is longer than allowed.
        case frameTooLarge
        /// A message is longer than allowed.
        case messageTooLarge
        /// No message of this type goes in this direction.
        case unknownType
        /// A message began before the one before had ended.
        case interleaved
        /// A payload does not have the form of its type.
        case malformed
    }

    /// What kind of violation it is.
    public var code: Code
    /// What was expected and what was found.
    public var reason: String
    /// The type byte of the message, 0 when there is none.
    public var type: UInt8
    /// The request id of the message.
    public var id: UInt32
    /// The offset in the payload, with ``Code/malformed``.
    public var offset: Int?

    /// A violation by the message of the given type and id.
    public init(_ code: Code, _ reason: String, type: UInt8, id: UInt32, offset: Int? = nil) {
        self.code = code
        self.reason = reason
        self.type = type
        self.id = id
        self.offset = offset
    }

    /// One line for a log.
    public var description: String {
        let place = offset.map { " at offset \($0)" } ?? ""
        return "\(code.rawValue): message type \(type), request \(id)\(place): \(reason)"
    }

    /// The same for callers and peers: `limitExceeded` for sizes, `usage` for everything else.
    public var tandemError: TandemError {
        switch code {
        case .frameTooLarge, .messageTooLarge: TandemError(.limitExceeded, description)
        case .badFrame, .unknownType, .interleaved, .malformed: TandemError(.usage, description)
        }
    }
}
