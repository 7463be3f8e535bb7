import FuzzTargets
import TandemIO
import TandemModel
import TandemWire
import TestSupport

/// The seed of this run: `TANDEM_SEED`, or a random one that failures print.
let seed: UInt64 =
    TestSeed.value(or: UInt64.random(in: 0...UInt64(UInt32.max)))

extension MessageMaker {
    /// Creates a maker of this run's messages.
    init(_ salt: UInt64 = 0) { self.init(seed: seed &+ salt) }
}

/// Returns the frames of some messages, one after the other.
func frames<Message: WireMessage>(_ envelopes: [Envelope<Message>]) throws -> [UInt8] {
    var output: [UInt8] = []
    for envelope in envelopes {
        try FrameEncoder.encode(envelope.message, id: envelope.id, into: &output)
    }
    return output
}

/// Returns all messages in the bytes of these pieces.
func messages<Message: WireMessage>(
    _ type: Message.Type = Message.self, in pieces: some Sequence<[UInt8]>
) throws(WireError) -> [Envelope<Message>] {
    var decoder = FrameDecoder<Message>()
    var result: [Envelope<Message>] = []
    for piece in pieces {
        decoder.append(piece)
        while let envelope = try decoder.next() { result.append(envelope) }
    }
    return result
}
