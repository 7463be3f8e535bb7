import FuzzTargets
import TandemModel
import TandemWire
import TestSupport
import Testing

struct FrameDecoderTests {
    private let maximum = WireLimits.frameBytes

    @Test func `the messages do not depend on how the bytes are split`() throws {
        var maker = MessageMaker(1)
        let envelopes = (0..<40).map { _ in maker.daemonEnvelope() }
        let bytes = try frames(envelopes)
        #expect(try messages(in: [bytes]) == envelopes, "all at once, seed \(seed)")
        #expect(try messages(in: bytes.map { [$0] }) == envelopes, "drip-fed, seed \(seed)")
        for _ in 0..<50 {
            let pieces = cut(bytes, &maker)
            #expect(try messages(in: pieces) == envelopes, "seed \(seed)")
        }
    }

    private func cut(_ bytes: [UInt8], _ maker: inout MessageMaker) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = min(rest.count, maker.int(0...60))
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    @Test func `a decoder is at a boundary only between messages`() throws {
        var decoder = ClientMessageDecoder()
        #expect(decoder.isAtBoundary)
        decoder.append([0, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0])
        #expect(try decoder.next() == nil)
        #expect(!decoder.isAtBoundary)
        decoder.append([0])
        let envelope = try decoder.next()
        #expect(envelope == Envelope(id: 1, message: .status))
        #expect(decoder.isAtBoundary && decoder.bufferedBytes == 0)
    }

    @Test func `law 8: removed messages leave nothing buffered`() throws {
        var decoder = ClientMessageDecoder()
        let message = try frames([Envelope(id: 1, message: ClientMessage.lease(count: 5))])
        for round in 0..<10_000 {
            decoder.append(message)
            decoder.append(Array(message.prefix(round % message.count)))
            #expect(try decoder.next() != nil)
            #expect(decoder.bufferedBytes == round % message.count)
            decoder.append(Array(message.dropFirst(round % message.count)))
            while try decoder.next() != nil {}
            #expect(decoder.isAtBoundary)
        }
    }

    @Test(arguments: [-1, 0, 1, 1 << 20, (1 << 20) + 1])
    func `long messages are sent in several frames`(extra: Int) throws {
        let text = String(repeating: "x", count: maximum - 3 + extra)
        let envelopes = [
            Envelope(id: 3, message: DaemonMessage.status(text)),
            Envelope(id: 4, message: DaemonMessage.status("end")),
        ]
        let bytes = try frames(envelopes)
        #expect(try messages(in: [bytes]) == envelopes)
        let half = bytes.count / 2
        #expect(try messages(in: [Array(bytes[..<half]), Array(bytes[half...])]) == envelopes)
        let payload = maximum + extra
        let ending = FrameEncoder.encodedBytes(payload: 4)
        #expect(bytes.count == FrameEncoder.encodedBytes(payload: payload) + ending)
    }

    @Test(arguments: [0, 8] + [1, 2, 3].flatMap { n in (-1...1).map { (n << 20) - 88 + $0 } })
    func `a push made of head and body equals the encoded message`(size: Int) throws {
        let row = Row(bytes: [UInt8](repeating: 7, count: size))
        let change = Change(
            .insert, ObjectReference(tag: 1, number: 2), changed: PropertyMask([0]), row: row)
        let transaction = EncodedTransaction(
            Transaction(position: 9, content: .objects([change])))
        let push = TransactionPush(previous: 8, transaction: transaction)
        let body = try PushBody(transaction)
        var quick: [UInt8] = []
        body.appendHead(previous: 8, to: &quick)
        #expect(quick.count == PushBody.headBytes)
        quick += body.bytes
        let envelope = Envelope(id: 0, message: DaemonMessage.transaction(push))
        #expect(try quick == frames([envelope]))
        #expect(try messages(in: [quick]) == [envelope])
    }

    @Test func `law 8: a message that is too large is not sent`() throws {
        var output: [UInt8] = [1, 2, 3]
        let text = String(repeating: "x", count: WireLimits.clientMessageBytes)
        let error = #expect(throws: WireError.self) {
            try FrameEncoder.encode(
                ClientMessage.schema(SchemaRequest(model: text)), id: 1, into: &output)
        }
        #expect(error?.code == .messageTooLarge)
        #expect(error?.tandemError.code == .limitExceeded)
        #expect(output == [1, 2, 3])
    }

    @Test
    func `law 8: a message that is too large is refused at the header that exceeds the limit`()
        throws
    {
        var decoder = ClientMessageDecoder()
        let header = FrameHeader(length: UInt32(maximum), type: 9, hasMore: true, id: 1)
        let payload = [UInt8](repeating: 0, count: maximum)
        let whole = WireLimits.clientMessageBytes / maximum
        for _ in 0..<whole {
            decoder.append(bytes(header))
            decoder.append(payload)
            #expect(try decoder.next() == nil)
        }
        decoder.append(bytes(header))
        let error = #expect(throws: WireError.self) { try decoder.next() }
        #expect(error?.code == .messageTooLarge)
        #expect(decoder.bufferedBytes == 0)
    }

    @Test(arguments: [
        (FrameHeader(length: (1 << 20) + 1, type: 10, id: 1), WireError.Code.frameTooLarge),
        (FrameHeader(length: .max, type: 10, id: 1), .frameTooLarge),
        (FrameHeader(length: 0, type: 0, id: 1), .unknownType),
        (FrameHeader(length: 0, type: 63, id: 1), .unknownType),
        (FrameHeader(length: 0, type: 64, id: 0), .unknownType),
        (FrameHeader(length: 0, type: 10, id: 0), .badFrame),
        (FrameHeader(length: 0, type: 1, id: 1), .badFrame),
        (FrameHeader(length: 0, type: 10, hasMore: true, id: 1), .badFrame),
        (FrameHeader(length: 0, type: 6, id: 1), .malformed),
    ])
    func `law 7: headers that violate the rules are refused`(
        header: FrameHeader, code: WireError.Code
    ) {
        var decoder = ClientMessageDecoder()
        decoder.append(bytes(header))
        let error = #expect(throws: WireError.self) { try decoder.next() }
        #expect(error?.code == code)
        decoder.append([0, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0])
        let again = #expect(throws: WireError.self) { try decoder.next() }
        #expect(again == error)
    }

    @Test(arguments: [(5, 2), (5, 0x81), (6, 1), (7, 1)] as [(Int, UInt8)])
    func `law 7: unknown flags and reserved bits are refused`(offset: Int, value: UInt8) {
        var header = bytes(FrameHeader(length: 0, type: 10, id: 1))
        header[offset] = value
        let error = #expect(throws: WireError.self) {
            try messages(ClientMessage.self, in: [header])
        }
        #expect(error?.code == .badFrame)
    }

    @Test(arguments: [
        FrameHeader(length: 1, type: 9, id: 2), FrameHeader(length: 1, type: 8, id: 1),
    ])
    func `law 7: interleaved messages are refused`(second: FrameHeader) {
        let first = FrameHeader(length: 1, type: 9, hasMore: true, id: 1)
        let input = bytes(first) + [0] + bytes(second) + [0]
        let error = #expect(throws: WireError.self) {
            try messages(ClientMessage.self, in: [input])
        }
        #expect(error?.code == .interleaved)
    }

    @Test func `the error for a malformed payload names type, id and offset`() {
        let input = bytes(FrameHeader(length: 0, type: 10, id: 5))
        let header = FrameHeader(length: 13, type: 6, id: 7)
        let error = #expect(throws: WireError.self) {
            try messages(
                ClientMessage.self, in: [input + bytes(header) + [UInt8](repeating: 0, count: 13)])
        }
        #expect(
            error
                == WireError(
                    .malformed, "expected the end of the message", type: 6, id: 7, offset: 12))
    }

    private func bytes(_ header: FrameHeader) -> [UInt8] {
        var output: [UInt8] = []
        header.encode(into: &output)
        return output
    }
}
