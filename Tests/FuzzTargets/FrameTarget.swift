import TandemIO
import TandemModel
import TandemWire

extension FuzzTarget {
    /// The incremental decoder: however a stream is split, the messages and the error are the same.
    ///
    /// The first byte determines how the stream is split, the rest is the stream.
    static let frames = FuzzTarget("frames", seeds: frameSeeds) { input in
        var input = FuzzInput(input)
        let cut = UInt64(input.byte())
        let stream = input.rest()
        try FrameProperties<ClientMessage>.check(stream, cut: cut)
        try FrameProperties<DaemonMessage>.check(stream, cut: cut)
    }

    @Sendable private static func frameSeeds() -> [[UInt8]] {
        var maker = MessageMaker(seed: 1)
        return (0..<60).map { index in
            var stream: [UInt8] = [UInt8(index)]
            for _ in 0...(index % 3) {
                if index.isMultiple(of: 2) {
                    append(maker.clientEnvelope(), to: &stream)
                } else {
                    append(maker.daemonEnvelope(), to: &stream)
                }
            }
            return stream
        }
    }

    private static func append<Message: WireMessage>(
        _ envelope: Envelope<Message>, to stream: inout [UInt8]
    ) {
        try? FrameEncoder.encode(envelope.message, id: envelope.id, into: &stream)
    }
}

/// The properties of the streams of one direction.
enum FrameProperties<Message: WireMessage> {
    /// The result of decoding a stream, with messages in their binary form, in which not-a-number
    /// equals itself.
    private struct Outcome: Equatable {
        var messages: [[UInt8]] = []
        var error: WireError?
        var endsAtBoundary = false
    }

    static func check(_ stream: [UInt8], cut: UInt64) throws {
        let whole = try decode([stream[...]])
        try hold(
            try decode(pieces(stream, cut)) == whole, "the stream decodes differently in pieces")
        if stream.count < 300 {
            let bytes = stream.indices.map { stream[$0...$0] }
            try hold(try decode(bytes) == whole, "the stream decodes differently byte by byte")
        }
    }

    private static func pieces(_ stream: [UInt8], _ cut: UInt64) -> [ArraySlice<UInt8>] {
        var random = SeededGenerator(seed: cut)
        var pieces: [ArraySlice<UInt8>] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...64, using: &random)
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    private static func decode(_ pieces: [ArraySlice<UInt8>]) throws -> Outcome {
        var decoder = FrameDecoder<Message>()
        var outcome = Outcome()
        var received = 0
        for piece in pieces {
            decoder.append(Array(piece))
            received += piece.count
            guard outcome.error == nil else { break }
            do throws(WireError) {
                while let envelope = try decoder.next() {
                    outcome.messages.append(try bytes(envelope))
                }
            } catch {
                outcome.error = error
            }
            try hold(
                decoder.bufferedBytes <= received, "more bytes are buffered than were received")
        }
        outcome.endsAtBoundary = decoder.isAtBoundary
        try checkEnd(&decoder, outcome)
        return outcome
    }

    private static func checkEnd(_ decoder: inout FrameDecoder<Message>, _ outcome: Outcome) throws
    {
        guard let error = outcome.error else { return }
        try hold(!error.reason.isEmpty, "a violation without a reason")
        do throws(WireError) {
            _ = try decoder.next()
        } catch let again {
            try hold(again == error, "a second error after \(error): \(again)")
            return
        }
        throw FuzzFinding("the decoder continued after a violation")
    }

    private static func bytes(_ envelope: Envelope<Message>) throws(WireError) -> [UInt8] {
        var bytes: [UInt8] = []
        try FrameEncoder.encode(envelope.message, id: envelope.id, into: &bytes)
        return bytes
    }
}
