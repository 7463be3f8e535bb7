import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Sessions at the same position that receive the same bytes.
@Suite(.ownThread) struct SharedPushBatchTests {
    @Test(arguments: 0..<Volume.of(3, deep: 8))
    func `law 2: sessions sharing push batches miss nothing, however sockets accept them`(
        round: Int
    ) throws {
        let seed = seed &+ UInt64(round)
        var random = SplitMix64(seed: seed)
        let bench = try EngineBench()
        let saver = try bench.client()
        let listeners = try (0..<40).map { try Listener(bench, seed: seed &+ UInt64($0)) }
        let start = bench.position.number
        for number in UInt64(1)...60 {
            let length = [10, 300, 20_000, 60_000].randomElement(using: &random) ?? 0
            let text = PropertyValue.string(String(repeating: "x", count: length))
            try saver.save([try bench.bench.insert("Node", number, ["name": text])])
            for listener in listeners where Bool.random(using: &random) {
                listener.makeRoom(Int.random(in: 0...90_000, using: &random))
            }
            if Bool.random(using: &random) { try bench.turn() }
            // Sometimes progress marks are sent between the saves, so that positions differ between
            // sessions.
            if Int.random(in: 0..<10, using: &random) == 0 { bench.engine.markProgress() }
        }
        for listener in listeners { listener.makeRoom(.max) }
        while bench.engine.hasWork { try bench.turn() }
        let truth = try bench.bench.transactions().filter { $0.position > start }
        let expected = truth.map { EncodedTransaction($0).withoutBlobs.bytes }
        for listener in listeners {
            #expect(try listener.transactions() == expected, "seed \(seed)")
            #expect(listener.session.outboundBytes == 0)
            #expect(listener.session.output.pushes == UInt64(expected.count))
            #expect(listener.session.output.written == UInt64(listener.socket.taken.count))
        }
    }

    @Test func `a batch is sent to each of many sessions in one write, encoded once`() throws {
        let bench = try EngineBench()
        let saver = try bench.client()
        let listeners = try (0..<30).map { try Listener(bench, seed: $0) }
        for listener in listeners { listener.socket.chops = false }
        for listener in listeners { listener.makeRoom(.max) }
        while bench.engine.hasWork { try bench.turn() }
        let before = listeners.map(\.socket.writes)
        for number in UInt64(1)...3 {
            _ = try saver.send(
                .save(saver.saveRequest([try bench.bench.insert("Node", number)])))
        }
        try bench.turn()
        #expect(bench.engine.queues.following.isEmpty)
        #expect(zip(listeners, before).allSatisfy { $0.socket.writes == $1 + 1 })
        #expect(bench.engine.pushes.sharedBatch?.pushes == 3)
        for listener in listeners { #expect(try listener.transactions().count == 3) }
    }

    @Test func `law 8: long pushes are not coalesced but shared`() throws {
        let bench = try EngineBench()
        let saver = try bench.client()
        let listeners = try (0..<3).map { try Listener(bench, seed: $0) }
        for listener in listeners { listener.makeRoom(.max) }
        while bench.engine.hasWork { try bench.turn() }
        for listener in listeners { listener.makeRoom(0) }
        let text = PropertyValue.string(String(repeating: "x", count: 50_000))
        try saver.save([
            try bench.bench.insert("Node", 1, ["name": text]),
            try bench.bench.insert("Node", 2, ["name": text]),
        ])
        while bench.engine.hasWork { try bench.turn() }
        #expect(
            bench.engine.pushes.sharedBatch?.isComplete == false
                && bench.engine.pushes.sharedBatch?.bytes.isEmpty == true)
        for listener in listeners { listener.makeRoom(.max) }
        while bench.engine.hasWork { try bench.turn() }
        for listener in listeners { #expect(try listener.transactions().count == 1) }
    }

    @Test func `a closed connection is detected with the next push`() throws {
        let bench = try EngineBench()
        let saver = try bench.client()
        let listeners = try (0..<3).map { try Listener(bench, seed: $0) }
        for listener in listeners { listener.makeRoom(.max) }
        while bench.engine.hasWork { try bench.turn() }
        listeners[1].socket.isGone = true
        try saver.save([try bench.bench.insert("Node", 1)])
        while bench.engine.hasWork { try bench.turn() }
        #expect(listeners.map(\.session.isClosing) == [false, true, false])
        #expect(bench.engine.pushes.groupCount == 2)
    }

    @Test func `law 2: a follower keeps up with writers that fill every batch`() throws {
        let bench = try EngineBench()
        let saver = try bench.client()
        let listener = try Listener(bench, seed: 1)
        listener.socket.chops = false
        listener.makeRoom(.max)
        let text = PropertyValue.string(String(repeating: "x", count: 60_000))
        for turn in UInt64(0)..<4 {
            for save in UInt64(0)..<16 {
                let operations = try (UInt64(1)...4).map {
                    try bench.bench.insert("Node", turn * 64 + save * 4 + $0, ["name": text])
                }
                _ = try saver.send(.save(saver.saveRequest(operations)))
            }
            let before = bench.position.number
            try bench.turn()
            try saver.read()
            #expect(bench.position.number == before + 16)
            #expect(listener.session.lagPosition == nil)
        }
    }
}

/// A client that sends a hello and then only receives.
private final class Listener {
    let socket: ChoppingChannel
    let session: Session
    private let bench: EngineBench

    init(_ bench: EngineBench, seed: UInt64) throws {
        self.bench = bench
        socket = ChoppingChannel(seed: seed)
        let peer = PeerCredentials(uid: 1_000, gid: 1_000, pid: 1)
        session = try #require(bench.engine.connect(socket, of: peer, unit: ""))
        var bytes: [UInt8] = []
        try FrameEncoder.encode(
            ClientMessage.hello(Hello(author: "l", interests: ["Node"])), into: &bytes)
        bytes.withUnsafeBytes { bench.engine.receive($0, from: session) }
        try bench.turn()
    }

    /// Sets the number of further bytes that the socket accepts.
    func makeRoom(_ bytes: Int) {
        socket.room = bytes
        if session.isWaitingToWrite { bench.engine.resume(session) }
    }

    /// Returns the transactions received so far; records an issue if a push does not name its
    /// predecessor.
    func transactions() throws -> [[UInt8]] {
        var decoder = DaemonMessageDecoder()
        decoder.append(socket.taken)
        var (cursor, found) = (UInt64(0), [[UInt8]]())
        while let message = try decoder.next()?.message {
            switch message {
            case .welcome(let welcome): cursor = welcome.position
            case .transaction(let push):
                #expect(push.previous == cursor)
                cursor = push.transaction.position
                found.append(push.transaction.bytes)
            case .progress(let push):
                #expect(push.previous == cursor)
                cursor = push.position
            default: Issue.record("\(message)")
            }
        }
        return found
    }
}
