import FuzzTargets
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

/// Input of a hostile or broken peer: it gives an error or a message, never a trap.
struct HostileInputTests {
    @Test func `law 7: ten thousand random inputs never trap`() {
        var maker = MessageMaker(7)
        for _ in 0..<10_000 {
            let input = maker.bytes(120)
            feed(input, ClientMessage.self)
            feed(input, DaemonMessage.self)
        }
    }

    @Test func `law 7: ten thousand random payloads with valid headers never trap`() {
        var maker = MessageMaker(8)
        for _ in 0..<10_000 {
            let payload = maker.bytes(150)
            let client = UInt8(maker.int(1...10))
            let daemon = UInt8(maker.int(64...76))
            feed(frame(client, payload, ClientMessage.self), ClientMessage.self)
            feed(frame(daemon, payload, DaemonMessage.self), DaemonMessage.self)
        }
    }

    @Test func `law 7: ten thousand damaged messages never trap`() throws {
        var maker = MessageMaker(9)
        for _ in 0..<5_000 {
            var input = try frames([maker.clientEnvelope(), maker.clientEnvelope()])
            damage(&input, &maker)
            feed(input, ClientMessage.self)
            input = try frames([maker.daemonEnvelope(), maker.daemonEnvelope()])
            damage(&input, &maker)
            feed(input, DaemonMessage.self)
        }
    }

    @Test func `law 7: the size of a condition on a history is limited`() throws {
        func isTaken(_ condition: HistoryCondition) -> Bool {
            var writer = ByteWriter()
            condition.encode(into: &writer)
            var reader = ByteReader(writer.bytes)
            return (try? HistoryCondition(from: &reader)) == condition
        }
        let property = ObservedProperty(entity: 1, slot: 2)
        let object = ObjectReference(tag: 1, number: 2)
        for (more, isGood) in [(0, true), (1, false)] {
            let properties = Array(repeating: property, count: WireLimits.names + more)
            #expect(isTaken(HistoryCondition(properties: properties)) == isGood)
            let objects = Array(repeating: object, count: WireLimits.historyObjects + more)
            #expect(isTaken(HistoryCondition(objects: objects)) == isGood)
        }
    }

    private func damage(_ input: inout [UInt8], _ maker: inout MessageMaker) {
        for _ in 0...maker.int(0...3) {
            let values: [UInt8] = [0, 1, 0x7f, 0x80, 0xff, UInt8(maker.int(0...255))]
            input[maker.int(0...(input.count - 1))] = values[maker.int(0...5)]
        }
        if maker.int(0...9) == 0 { input.removeLast(maker.int(0...input.count)) }
    }

    private func frame<Message: WireMessage>(
        _ type: UInt8, _ payload: [UInt8], _: Message.Type
    ) -> [UInt8] {
        let id: UInt32 = Message.Kind(rawValue: type)?.rules.requestID == .zero ? 0 : 1
        var output: [UInt8] = []
        FrameHeader(length: UInt32(payload.count), type: type, id: id).encode(into: &output)
        return output + payload
    }

    /// Decodes as much as possible; every decoded message must be encodable again.
    private func feed<Message: WireMessage>(_ input: [UInt8], _: Message.Type) {
        var decoder = FrameDecoder<Message>()
        decoder.append(input)
        do throws(WireError) {
            while let envelope = try decoder.next() {
                var output: [UInt8] = []
                try FrameEncoder.encode(envelope.message, id: envelope.id, into: &output)
            }
        } catch {
            #expect(!error.reason.isEmpty, "seed \(seed)")
            #expect(decoder.bufferedBytes == 0, "seed \(seed)")
        }
    }
}
