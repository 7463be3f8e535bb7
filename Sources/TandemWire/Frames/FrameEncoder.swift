import TandemModel

/// An encoder that writes messages as frames.
///
///     var output: [UInt8] = []
///     try FrameEncoder.encode(ClientMessage.status, id: 7, into: &output)
package enum FrameEncoder {
    /// Appends a message as frames.
    ///
    /// The frames have at most `frameBytes` of payload, and the message at most `messageBytes`.
    /// Throws ``WireError`` if the message exceeds `messageBytes` or the limit of its type;
    /// `output` is then unchanged. Traps if the id is not allowed for the type: it must be 0 for
    /// hello, welcome and pushes, and not 0 for requests and answers. Cost: the payload is written
    /// once; a message of several frames is copied once more.
    @specialized(where Message == ClientMessage)
    @specialized(where Message == DaemonMessage)
    package static func encode<Message: WireMessage>(
        _ message: Message, id: UInt32 = 0, frameBytes: Int = WireLimits.frameBytes,
        messageBytes: Int = .max, into output: inout [UInt8]
    ) throws(WireError) {
        let (type, rules) = (message.type, message.kind.rules)
        precondition(
            rules.requestID.allows(id),
            "A message of type \(type) cannot have the request id \(id).")
        let start = output.count
        FrameHeader(length: 0, type: type, id: id).encode(into: &output)
        var writer = ByteWriter()
        swap(&writer.bytes, &output)
        message.encodePayload(into: &writer)
        swap(&writer.bytes, &output)
        let count = output.count - start - Frame.headerBytes
        let maximum = min(rules.maximumBytes, messageBytes)
        guard count <= maximum else {
            output.removeSubrange(start...)
            throw WireError(
                .messageTooLarge,
                "the message has \(count) bytes, more than the maximum of \(maximum)", type: type,
                id: id)
        }
        finish(from: start, type: type, id: id, frameBytes, &output)
    }

    /// Returns the size of a payload together with the headers of its frames.
    package static func encodedBytes(
        payload: Int, frameBytes: Int = WireLimits.frameBytes
    ) -> Int {
        let frames = max(1, (payload + frameBytes - 1) / frameBytes)
        return payload + frames * Frame.headerBytes
    }

    /// Completes the header at `start`; splits a payload that is too long for one frame.
    private static func finish(
        from start: Int, type: UInt8, id: UInt32, _ frameBytes: Int, _ output: inout [UInt8]
    ) {
        let payload = start + Frame.headerBytes
        let count = output.count - payload
        guard count > frameBytes else {
            output.withUnsafeMutableBytes {
                $0.storeBytes(
                    of: UInt32(count).littleEndian, toByteOffset: start, as: UInt32.self)
            }
            return
        }
        cut(payload, type: type, id: id, frameBytes, &output)
    }

    /// Splits the payload at an offset into frames, moving the last one first to make room for the
    /// headers.
    private static func cut(
        _ payload: Int, type: UInt8, id: UInt32, _ frameBytes: Int, _ output: inout [UInt8]
    ) {
        let count = output.count - payload
        let frames = (count + frameBytes - 1) / frameBytes
        output.append(contentsOf: repeatElement(0, count: (frames - 1) * Frame.headerBytes))
        output.withUnsafeMutableBytes { output in
            for frame in (0..<frames).reversed() {
                let (from, last) = (payload + frame * frameBytes, frame == frames - 1)
                let length = last ? count - frame * frameBytes : frameBytes
                let to = from + frame * Frame.headerBytes
                UnsafeMutableRawBufferPointer(rebasing: output[to..<to + length])
                    .copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: output[from..<from + length]))
                var header: [UInt8] = []
                FrameHeader(length: UInt32(length), type: type, hasMore: !last, id: id)
                    .encode(into: &header)
                UnsafeMutableRawBufferPointer(rebasing: output[to - header.count..<to])
                    .copyBytes(from: header)
            }
        }
    }
}

extension RequestIDRule {
    /// Returns whether the rule allows the id.
    func allows(_ id: UInt32) -> Bool {
        switch self {
        case .zero: id == 0
        case .request: id != 0
        case .any: true
        }
    }
}
