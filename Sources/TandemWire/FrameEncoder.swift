import TandemModel

/// Puts messages into frames.
///
///     var output: [UInt8] = []
///     try FrameEncoder.encode(ClientMessage.status, id: 7, into: &output)
public enum FrameEncoder {
    /// Appends a message as frames.
    ///
    /// Its frames have `frameBytes`, it has at most `messageBytes`. Throws ``WireError`` when it is
    /// larger than that or than its type may be; `output` is then as before. An
    /// id that does not fit the type (0 for hello, welcome and pushes; not 0 for requests and
    /// answers) traps. Cost: the payload is written once; a message of several frames is copied
    /// once more.
    @specialized(where Message == ClientMessage)
    @specialized(where Message == DaemonMessage)
    public static func encode<Message: WireMessage>(
        _ message: Message, id: UInt32 = 0, frameBytes: Int = WireLimits.frameBytes,
        messageBytes: Int = .max, into output: inout [UInt8]
    ) throws(WireError) {
        let type = message.type
        precondition(
            Message.requestID(type: type).allows(id),
            "A message of type \(type) does not go with the request id \(id).")
        let start = output.count
        FrameHeader(length: 0, type: type, id: id).encode(into: &output)
        var writer = ByteWriter()
        swap(&writer.bytes, &output)
        message.encodePayload(into: &writer)
        swap(&writer.bytes, &output)
        let count = output.count - start - Frame.headerBytes
        let maximum = min(Message.maximumBytes(type: type) ?? 0, messageBytes)
        guard count <= maximum else {
            output.removeSubrange(start...)
            throw WireError(
                .messageTooLarge, "\(count) bytes, at most \(maximum) are allowed", type: type,
                id: id)
        }
        finish(from: start, type: type, id: id, frameBytes, &output)
    }

    /// The frames of a ``TransactionPush``, made from the transaction's own bytes.
    ///
    /// Build them once for each distinct `previous` and send the same array to every session that
    /// stands there. Throws ``WireError`` when the transaction is too large for a message. Cost:
    /// one copy.
    public static func encodeTransactionPush(
        previous: UInt64, transactionBytes: [UInt8]
    ) throws(WireError) -> [UInt8] {
        let type = DaemonMessage.Kind.transaction.rawValue
        let count = 8 + transactionBytes.count
        guard count <= WireLimits.daemonMessageBytes else {
            throw WireError(
                .messageTooLarge,
                "\(count) bytes, at most \(WireLimits.daemonMessageBytes) are allowed",
                type: type, id: 0)
        }
        var output: [UInt8] = []
        output.reserveCapacity(encodedBytes(payload: count))
        FrameHeader(length: 0, type: type, id: 0).encode(into: &output)
        withUnsafeBytes(of: previous.littleEndian) { output.append(contentsOf: $0) }
        output.append(contentsOf: transactionBytes)
        finish(from: 0, type: type, id: 0, WireLimits.frameBytes, &output)
        return output
    }

    /// The bytes that a payload takes with the headers of its frames.
    public static func encodedBytes(
        payload: Int, frameBytes: Int = WireLimits.frameBytes
    ) -> Int {
        let frames = max(1, (payload + frameBytes - 1) / frameBytes)
        return payload + frames * Frame.headerBytes
    }

    /// Completes the header at `start`; cuts a payload that is too long for one frame.
    private static func finish(
        from start: Int, type: UInt8, id: UInt32, _ frameBytes: Int, _ output: inout [UInt8]
    ) {
        let payload = start + Frame.headerBytes
        let count = output.count - payload
        guard count > frameBytes else {
            withUnsafeBytes(of: UInt32(count).littleEndian) {
                output.replaceSubrange(start..<(start + 4), with: $0)
            }
            return
        }
        let bytes = output[payload...]
        output = Array(output[..<start])
        output.reserveCapacity(start + encodedBytes(payload: count, frameBytes: frameBytes))
        var at = payload
        while at < bytes.endIndex {
            let end = min(at + frameBytes, bytes.endIndex)
            FrameHeader(
                length: UInt32(end - at), type: type, hasMore: end < bytes.endIndex, id: id
            ).encode(into: &output)
            output.append(contentsOf: bytes[at..<end])
            at = end
        }
    }
}

extension RequestIDRule {
    /// True when the id fits.
    func allows(_ id: UInt32) -> Bool {
        switch self {
        case .zero: id == 0
        case .request: id != 0
        case .any: true
        }
    }
}
