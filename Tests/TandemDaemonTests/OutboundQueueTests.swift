import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The outbound queue of a session, and push bodies that sessions share.
@Suite(.ownThread) struct OutboundQueueTests {
    @Test(arguments: 0..<8)
    func `law 2: own bytes and shared bodies are sent in order, however the socket accepts them`(
        round: Int
    ) throws {
        let seed = seed &+ UInt64(round)
        var random = SplitMix64(seed: seed)
        let bodies = try [1, 50, 300, 20_000, 70_000].map { try body($0, at: 9) }
        let socket = ChoppingChannel(seed: seed)
        let buffer = CoalescingBuffer()
        var outbound = OutboundQueue()
        var expected: [UInt8] = []
        for step in 0..<400 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0...1:
                let count = [0, 3, 900, 40_000].randomElement(using: &random) ?? 0
                let bytes = [UInt8](repeating: UInt8(step & 255), count: count)
                outbound.withOwn { $0 += bytes }
                expected += bytes
            case 2...4:
                guard let body = bodies.randomElement(using: &random) else { continue }
                outbound.append(body, after: UInt64(step))
                body.appendHead(previous: UInt64(step), to: &expected)
                expected += body.bytes
            default:
                socket.room = Int.random(in: 0...150_000, using: &random)
                let outcome = outbound.write(to: socket, through: buffer)
                #expect((outcome == .done) == (outbound.count == 0))
            }
            #expect(socket.taken.count + outbound.count == expected.count)
        }
        socket.room = .max
        #expect(outbound.write(to: socket, through: buffer) == .done)
        #expect(socket.taken == expected, "seed \(seed)")
    }

    @Test func `small pushes are sent in one write`() throws {
        let socket = ChoppingChannel(seed: 1)
        socket.chops = false
        socket.room = .max
        var outbound = OutboundQueue()
        for position in UInt64(1)...100 { outbound.append(try body(300, at: position), after: 0) }
        #expect(outbound.write(to: socket, through: CoalescingBuffer()) == .done)
        #expect(socket.writes == 1)
    }

    @Test func `law 8: bodies are made once per subscriber group, and the cache is bounded`() throws
    {
        var subscribers = SubscriberRegistry()
        let bench = try EngineBench()
        let client = try bench.client()
        let other = try bench.client()
        subscribers.move(client.session, to: [1])
        subscribers.move(other.session, to: [2])
        let first = try #require(client.session.group)
        let second = try #require(other.session.group)
        var cache = PushBodyCache(bytes: 100_000)
        var made = 0
        for position in UInt64(1)...500 {
            for _ in 0..<3 {
                let body = try cache.body(at: position, for: first) {
                    made += 1
                    return transaction(1_000, at: position)
                }
                #expect(body?.position == position)
                let none = try cache.body(at: position, for: second) {
                    made += 1
                    return transaction(1_000, at: position)
                }
                #expect(none == nil)
            }
            #expect(cache.bytes <= 100_000)
        }
        #expect(made == 1_000)
        #expect(cache.count < 200)
        // A body larger than the cache is kept as the only one.
        _ = try cache.body(at: 501, for: first) { transaction(200_000, at: 501) }
        #expect(cache.count == 1)
    }

    private func body(_ size: Int, at position: UInt64) throws -> PushBody {
        try PushBody(transaction(size, at: position))
    }

    private func transaction(_ size: Int, at position: UInt64) -> EncodedTransaction {
        let row = Row(bytes: (0..<size).map { UInt8($0 & 255) })
        let change = Change(
            .insert, ObjectReference(tag: 1, number: 2), changed: PropertyMask([0]), row: row)
        return EncodedTransaction(Transaction(position: position, content: .objects([change])))
    }
}
