import TandemModel
import TandemWire

/// What a connection asks of the wire format, in one place.
enum WireCoding {
    /// Requests that may be without an answer at one time; one more is kept for installing a model.
    static func requestsInFlight(_ limits: SessionLimits) -> Int {
        max(1, limits.requestsInFlight - 1)
    }

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

    /// The next message of a stream of bytes; nil when more bytes are needed.
    static func next(
        _ decoder: inout DaemonMessageDecoder
    ) throws(TandemError) -> (UInt32, DaemonMessage)? {
        do {
            return try decoder.next().map { ($0.id, $0.message) }
        } catch {
            throw error.tandemError
        }
    }

    /// The entities that a request adds to what the session follows.
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

    /// The position that an answer announces, if it does.
    static func announcedPosition(_ message: DaemonMessage) -> UInt64? {
        switch message {
        case .fetched(let answer): answer.position
        case .objects(let answer): answer.position
        case .saved(let answer): answer.position
        case .verdicts(let answer): answer.position
        case .synced(let position): position
        case .schema(let answer): answer.position
        case .batched(let answer): answer.position
        case .inserted(let answer): answer.position
        default: nil
        }
    }
}
