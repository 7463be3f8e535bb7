import TandemModel
import TandemWire

/// Encodes and decodes a connection's messages.
enum WireCoding {
    static func encode(
        _ message: ClientMessage, id: UInt32, _ limits: SessionLimits, into bytes: inout [UInt8]
    ) throws(TandemError) {
        do {
            try FrameEncoder.encode(
                message, id: id, frameBytes: limits.frameBytes, messageBytes: limits.messageBytes,
                into: &bytes)
        } catch {
            throw error.tandemError
        }
    }

    /// Returns the next message of a byte stream, or nil if more bytes are needed.
    static func next(
        _ decoder: inout DaemonMessageDecoder
    ) throws(TandemError) -> (UInt32, DaemonMessage)? {
        do {
            return try decoder.next().map { ($0.id, $0.message) }
        } catch {
            throw error.tandemError
        }
    }

    /// Returns the entities that a request adds to the session's subscriptions.
    static func interests(of message: ClientMessage) -> [EntityTag] {
        switch message {
        case .fetch(let fetch): fetch.interests
        case .read(let read): read.interests
        case .verdicts(let request):
            switch request.alongside {
            case .fetch(let fetch): fetch.interests
            case .read(let read): read.interests
            case nil: []
            }
        default: []
        }
    }
}
