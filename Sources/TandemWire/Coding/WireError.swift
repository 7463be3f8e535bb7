package import TandemModel

/// A violation of the protocol in received bytes, or the reason why a message can't be sent.
///
/// After a violation in received bytes, the connection is unusable: report the violation to the
/// peer (``tandemError``) and close the connection.
package struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of violation.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// A header violates the rules: flags, reserved bits, id, or an empty frame that is not the
        /// last.
        case badFrame
        /// A frame's payload is longer than allowed.
        case frameTooLarge
        /// A message is longer than allowed.
        case messageTooLarge
        /// The message type is unknown, or not allowed in this direction.
        case unknownType
        /// A message began before the previous one had ended.
        case interleaved
        /// A payload does not have the form that its type requires.
        case malformed
    }

    /// The kind of violation.
    package var code: Code
    /// A description of what was expected and what was found.
    package var reason: String
    /// The type byte of the message; 0 if there is none.
    package var type: UInt8
    /// The request id of the message.
    package var id: UInt32
    /// The offset in the payload, for ``Code/malformed``.
    package var offset: Int?

    /// Creates a violation in a message of the given type and id.
    package init(_ code: Code, _ reason: String, type: UInt8, id: UInt32, offset: Int? = nil) {
        self.code = code
        self.reason = reason
        self.type = type
        self.id = id
        self.offset = offset
    }

    /// The error as one line for a log.
    package var description: String {
        let place = offset.map { " at offset \($0)" } ?? ""
        return "\(code.rawValue): message type \(type), request \(id)\(place): \(reason)"
    }

    /// The error for callers and peers: `limitExceeded` for sizes, `usage` for everything else.
    package var tandemError: TandemError {
        switch code {
        case .frameTooLarge, .messageTooLarge:
            TandemError(
                .limitExceeded, "\(reason) (message type \(type), request \(id)); split the request"
            )
        case .badFrame, .unknownType, .interleaved, .malformed: TandemError(.usage, description)
        }
    }
}
