import TandemModel

/// A message and the request to which it belongs.
package struct Envelope<Message: WireMessage>: Hashable, Sendable {
    /// The request id, 0 for a message that belongs to no request.
    package var id: UInt32
    /// The message.
    package var message: Message

    /// Creates an envelope for a message that belongs to the request `id`.
    package init(id: UInt32, message: Message) {
        self.id = id
        self.message = message
    }
}

/// The decoder of a daemon.
package typealias ClientMessageDecoder = FrameDecoder<ClientMessage>

/// The decoder of a client.
package typealias DaemonMessageDecoder = FrameDecoder<DaemonMessage>

/// A decoder that turns received bytes into messages; `Message` determines the direction.
///
///     var decoder = ClientMessageDecoder()
///     decoder.append(received)
///     while let envelope = try decoder.next() { handle(envelope) }
///
/// Every length is compared with its limit when the header is complete, before memory is reserved
/// for it. The result does not depend on how the bytes are split into appends. Cost: constant per
/// byte. If ``next()`` is called until it returns nil after each append, the buffer holds at most
/// one frame, the bytes of one append, and one unfinished message.
package struct FrameDecoder<Message: WireMessage>: Sendable {
    private var input = FrameBuffer()
    private var step = DecodeState.header
    private var parts: [UInt8] = []
    /// Whether the rest of the current message is discarded.
    private var isSkipping = false
    /// The largest frame payload in bytes, if smaller than the protocol's limit.
    package var frameBytes = WireLimits.frameBytes
    /// The largest message in bytes, if smaller than the limit of its type.
    package var messageBytes = Int.max

    /// The position of the decoder within a message.
    private enum DecodeState {
        /// Before the first frame of a message.
        case header
        /// In the payload of a frame.
        case payload(FrameHeader)
        /// Before another frame of the message that began with this header.
        case continuation(FrameHeader)
        /// After a violation; the stream can no longer be decoded.
        case failed(WireError)
    }

    /// Creates a decoder at the beginning of a stream.
    package init() {}

    /// The number of appended bytes that belong to no returned message, headers included.
    package var bufferedBytes: Int { input.count + parts.count }

    /// Whether the stream may end here, because no message has begun.
    package var isAtBoundary: Bool {
        guard case .header = step else { return false }
        return input.count == 0
    }

    /// The type and request of an incomplete message of several frames; nil if there is none.
    package var unfinished: (type: UInt8, id: UInt32)? {
        guard !isSkipping else { return nil }
        switch step {
        case .payload(let header) where header.hasMore || !parts.isEmpty:
            return (header.type, header.id)
        case .continuation(let header): return (header.type, header.id)
        default: return nil
        }
    }

    /// Discards the unfinished message: the frames received so far, and the rest as they arrive.
    package mutating func skipMessage() {
        guard unfinished != nil else { return }
        isSkipping = true
        parts = []
    }

    /// Appends received bytes.
    package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

    /// Appends received bytes from a buffer, which is copied.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) { input.append(bytes) }

    /// Returns the next complete message, or nil if more bytes are needed.
    ///
    /// Throws ``WireError`` on a violation of the protocol, and again on every later call. The
    /// connection must then be closed.
    @specialized(where Message == ClientMessage)
    @specialized(where Message == DaemonMessage)
    package mutating func next() throws(WireError) -> Envelope<Message>? {
        do throws(WireError) {
            return try advance()
        } catch {
            fail(error)
            throw error
        }
    }

    // MARK: Steps

    private mutating func advance() throws(WireError) -> Envelope<Message>? {
        while true {
            switch step {
            case .failed(let error): throw error
            case .header:
                guard let header = try input.header() else { return nil }
                try check(header)
                step = .payload(header)
            case .continuation(let first):
                guard let header = try input.header() else { return nil }
                try check(header, continues: first)
                step = .payload(header)
            case .payload(let header):
                guard input.count >= Int(header.length) else { return nil }
                if let envelope = try finishFrame(header) { return envelope }
            }
        }
    }

    /// Consumes the payload of a frame, and returns the message if it was the last frame.
    private mutating func finishFrame(
        _ header: FrameHeader
    ) throws(WireError) -> Envelope<Message>? {
        let range = input.consume(Int(header.length))
        if isSkipping {
            isSkipping = header.hasMore
            step = header.hasMore ? .continuation(header) : .header
            return nil
        }
        if header.hasMore {
            parts.append(contentsOf: input.bytes[range])
            step = .continuation(header)
            return nil
        }
        step = .header
        if parts.isEmpty { return try decode(header, ByteReader(input.bytes, in: range)) }
        parts.append(contentsOf: input.bytes[range])
        let whole = parts
        parts = []
        return try decode(header, ByteReader(whole))
    }

    private func decode(
        _ header: FrameHeader, _ payload: ByteReader
    ) throws(WireError) -> Envelope<Message> {
        var reader = payload
        do throws(CodingError) {
            let message = try Message(type: header.type, from: &reader)
            try reader.expectEnd("the message")
            return Envelope(id: header.id, message: message)
        } catch {
            throw WireError(
                .malformed, "expected \(error.expected)", type: header.type, id: header.id,
                offset: error.offset - payload.offset)
        }
    }

    private mutating func fail(_ error: WireError) {
        step = .failed(error)
        input = FrameBuffer()
        parts = []
    }

    // MARK: Checks

    private func check(_ header: FrameHeader) throws(WireError) {
        guard let rules = Message.Kind(rawValue: header.type)?.rules else {
            throw violation(.unknownType, "the peer must not send messages of this type", header)
        }
        guard rules.requestID.allows(header.id) else {
            throw violation(
                .badFrame, "the request id is not allowed for this message type", header)
        }
        guard header.length <= frameBytes else {
            throw violation(
                .frameTooLarge,
                "a frame has \(header.length) bytes, more than the maximum of \(frameBytes)", header
            )
        }
        let maximum = min(rules.maximumBytes, messageBytes)
        let count = parts.count + Int(header.length)
        guard count <= maximum else {
            throw violation(
                .messageTooLarge, "the message has more than the maximum of \(maximum) bytes",
                header)
        }
        guard !header.hasMore || header.length > 0 else {
            throw violation(.badFrame, "the frame is empty, but announces more frames", header)
        }
    }

    private func check(
        _ header: FrameHeader, continues first: FrameHeader
    ) throws(WireError) {
        guard header.type == first.type, header.id == first.id else {
            throw violation(
                .interleaved,
                "the frames of message type \(first.type), request \(first.id) are not complete",
                header)
        }
        try check(header)
    }

    private func violation(
        _ code: WireError.Code, _ reason: String, _ header: FrameHeader
    ) -> WireError {
        WireError(code, reason, type: header.type, id: header.id)
    }
}
