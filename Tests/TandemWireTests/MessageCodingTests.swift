import FuzzTargets
import TandemModel
import TandemWire
import TestSupport
import Testing

struct MessageCodingTests {
    @Test(arguments: ClientMessage.Kind.allCases)
    func `every client message survives encoding and decoding`(kind: ClientMessage.Kind) throws {
        var maker = MessageMaker(UInt64(kind.rawValue))
        for _ in 0..<100 { try comesBack(maker.message(kind), &maker) }
    }

    @Test(arguments: DaemonMessage.Kind.allCases)
    func `every daemon message survives encoding and decoding`(kind: DaemonMessage.Kind) throws {
        var maker = MessageMaker(UInt64(kind.rawValue))
        for _ in 0..<100 { try comesBack(maker.message(kind), &maker) }
    }

    private func comesBack<Message: WireMessage>(
        _ message: Message, _ maker: inout MessageMaker
    ) throws {
        let envelope = Envelope(id: maker.id(message), message: message)
        let bytes = try frames([envelope])
        #expect(try messages(in: [bytes]) == [envelope], "seed \(seed)")
    }

    @Test func `every truncation of a payload is malformed`() throws {
        var maker = MessageMaker(100)
        for kind in ClientMessage.Kind.allCases {
            let message = maker.message(kind)
            try refusesTruncations(message)
        }
        for kind in DaemonMessage.Kind.allCases {
            let message = maker.message(kind)
            try refusesTruncations(message)
        }
    }

    private func refusesTruncations<Message: WireMessage>(_ message: Message) throws {
        var writer = ByteWriter()
        message.encodePayload(into: &writer)
        let bytes = writer.bytes
        for length in 0..<bytes.count {
            #expect(throws: CodingError.self, "seed \(seed), type \(message.type), \(length)") {
                var reader = ByteReader(bytes, in: 0..<length)
                _ = try Message(type: message.type, from: &reader)
                try reader.expectEnd("the message")
            }
        }
    }

    @Test func `a surplus byte is malformed`() throws {
        var maker = MessageMaker(101)
        for kind in ClientMessage.Kind.allCases where kind != .hello {
            let message = maker.message(kind)
            var bytes = try frames([Envelope(id: 1, message: message)])
            bytes.append(0)
            bytes[Frame.lengthOffset] &+= 1
            if bytes[Frame.lengthOffset] == 0 { bytes[Frame.lengthOffset + 1] += 1 }
            let error = #expect(throws: WireError.self, "seed \(seed), \(kind)") {
                try messages(ClientMessage.self, in: [bytes])
            }
            #expect(error?.code == .malformed)
        }
    }

    @Test func `an insert that removes a link is refused`() {
        var writer = ByteWriter()
        let link = LinkChange(
            slot: 1, target: ObjectReference(tag: 1, number: 2), isAdded: false)
        SaveOperation.insert(
            object: ObjectReference(tag: 1, number: 1), values: [], links: [link]
        ).encode(into: &writer)
        #expect(throws: CodingError.self) {
            var reader = ByteReader(writer.bytes)
            _ = try SaveOperation(from: &reader)
        }
    }

    @Test func `only the version of a hello of another version is read`() throws {
        var reader = ByteReader([9, 0, 0xff, 0xfe, 0xfd])
        let hello = try Hello(from: &reader)
        #expect(hello == Hello(protocolVersion: 9))
        #expect(reader.isAtEnd)
    }

    @Test func `a lease beyond the last number is refused`() {
        var writer = ByteWriter()
        Lease(first: .max, count: 1, epoch: 0).encode(into: &writer)
        #expect(throws: CodingError.self) {
            var reader = ByteReader(writer.bytes)
            _ = try Lease(from: &reader)
        }
    }

    @Test func `law 8: counts beyond a limit are refused`() {
        var writer = ByteWriter()
        VerdictRequest(from: 0, items: []).encode(into: &writer)
        // Remove the number of items, the missing piggybacked read, and the position.
        writer.bytes.removeLast(10)
        writer.count(WireLimits.verdictItems + 1)
        writer.raw([UInt8](repeating: 0, count: 4 * WireLimits.verdictItems))
        let error = #expect(throws: CodingError.self) {
            var reader = ByteReader(writer.bytes)
            _ = try VerdictRequest(from: &reader)
        }
        #expect(error?.expected == "at most \(WireLimits.verdictItems) items")
    }

    @Test func `law 8: a save id of more than 64 bytes is refused`() throws {
        var maker = MessageMaker(102)
        var save = maker.save()
        save.saveID = [UInt8](repeating: 1, count: WireLimits.saveIDBytes + 1)
        let bytes = try frames([Envelope(id: 1, message: ClientMessage.save(save))])
        #expect(throws: WireError.self) { try messages(ClientMessage.self, in: [bytes]) }
    }
}
