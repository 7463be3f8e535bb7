import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The daemon's loop with clients that demand more than their share.
@Suite(.ownThread) struct LoopTests {
    /// A client that saves as fast as it can, and the daemon's loop around its session.
    private struct World {
        let bench: EngineBench
        let client: Peer
        let poller = ScriptedPoller()
        let loop: ServiceLoop
        private(set) var sent: UInt32 = 0

        init() throws {
            var limits = DaemonLimits()
            limits.outboundBytes = 16 << 10
            bench = try EngineBench(limits: limits)
            client = try bench.client()
            loop = try ServiceLoop(bench.engine, listener: nil, poller: poller)
        }

        /// Sends saves that are refused with a message each, and lets the daemon read them.
        mutating func save(_ count: Int) throws {
            var bytes: [UInt8] = []
            for _ in 0..<count {
                sent += 1
                let request = SaveRequest(
                    saveID: [1], contentHash: StableHash([]), modelVersion: 99, operations: [])
                try FrameEncoder.encode(ClientMessage.save(request), id: sent, into: &bytes)
            }
            _ = try bytes.withUnsafeBytes { try client.socket.write($0) }
            let event = poller.readable(client)
            poller.rounds = [{ [event] }]
            _ = try loop.pass()
        }
    }

    @Test func `laws 7 and 8: saves of a client that reads no answers wait, without busy waiting`()
        throws
    {
        var world = try World()
        let session = world.client.session
        var rounds = 0
        while !session.isOverfull, rounds < 3_000 {
            try world.save(16)
            rounds += 1
        }
        #expect(session.isOverfull && !session.isClosing)
        let (full, answered) = (session.outboundBytes, world.sent)
        for _ in 0..<3 { try world.save(16) }
        #expect(session.outboundBytes == full && session.waitingSaves > 0)
        #expect(!session.isClosing && !world.bench.engine.hasWork)
        // Watching for bytes that may not be read yet would wake the loop for ever.
        #expect(world.poller.interests[session.id] == .write)
        #expect(world.bench.engine.limitCounters[.outboundBytes] == 1)
        // The client reads, and everything is answered.
        var answers = 0
        for _ in 0..<100 where answers < Int(world.sent) {
            try world.client.read()
            answers = world.client.received.count
            let (client, poller) = (world.client, world.poller)
            poller.rounds = [{ [poller.writable(client), poller.readable(client)] }]
            _ = try world.loop.pass()
        }
        #expect(answers == Int(world.sent) && answers > Int(answered))
        #expect(world.poller.interests[session.id] == .read)
    }

    @Test func `a save that arrived while the daemon was busy is timed from the last poll`() throws
    {
        let clock = ManualClock(monotonicNanoseconds: 1_000_000_000)
        let bench = try EngineBench(engineClock: clock)
        let client = try bench.client()
        let poller = ScriptedPoller()
        let loop = try ServiceLoop(bench.engine, listener: nil, poller: poller)
        var number: UInt64 = 0
        func pass(waiting nanoseconds: UInt64) throws {
            number += 1
            let save = client.saveRequest([try bench.bench.insert("Node", number)])
            _ = try client.send(.save(save))
            poller.rounds = [
                {
                    clock.advance(byNanoseconds: nanoseconds)
                    return [poller.readable(client)]
                }
            ]
            _ = try loop.pass()
        }
        _ = try loop.pass()
        clock.advance(byNanoseconds: 8_000_000_000)
        // The daemon slept until the bytes arrived.
        try pass(waiting: 1_000_000)
        #expect(bench.engine.reporter.metrics.saves.longest < 8_000_000_000)
        clock.advance(byNanoseconds: 8_000_000_000)
        try pass(waiting: 0)
        #expect(bench.engine.reporter.metrics.saves.longest >= 8_000_000_000)
    }

    @Test func `law 7: a client that leaves while its saves wait for room is released`() throws {
        var world = try World()
        let session = world.client.session
        while !session.isOverfull, !session.isClosing { try world.save(16) }
        try world.save(16)
        world.client.socket.shutdown()
        let gone = Poller.Event(
            token: session.id, isReadable: true, isWritable: false, isClosed: true)
        world.poller.rounds = [{ [gone] }]
        _ = try world.loop.pass()
        #expect(world.bench.engine.admission.sessions.isEmpty && !world.bench.engine.hasWork)
    }

    @Test func `law 7: a burst of connections is accepted over several turns`() throws {
        let scratch = try Scratch()
        let bench = try EngineBench()
        let listener = try UnixListener.listen(path: scratch.path + "/s", mode: 0o600)
        let poller = ScriptedPoller()
        let loop = try ServiceLoop(bench.engine, listener: listener, poller: poller)
        let listening = Poller.Event(
            token: 0, isReadable: true, isWritable: false, isClosed: false)
        let crowd = try (0..<100).map { _ in try Socket.connect(path: scratch.path + "/s") }
        poller.rounds = [{ [listening] }]
        _ = try loop.pass()
        #expect(bench.engine.admission.sessions.count == DaemonLimits.acceptsInTurn)
        poller.rounds = [{ [listening] }]
        _ = try loop.pass()
        #expect(bench.engine.admission.sessions.count == crowd.count)
    }

    @Test
    func `law 7: a hello after the welcome ends the connection, whatever is queued before it`()
        throws
    {
        let bench = try EngineBench()
        let client = try bench.client()
        var bytes: [UInt8] = []
        for id in UInt32(1)...3 {
            try FrameEncoder.encode(ClientMessage.sync(Sync(number: 99)), id: id, into: &bytes)
        }
        try FrameEncoder.encode(ClientMessage.hello(Hello()), into: &bytes)
        try client.write(bytes)
        try client.carry()
        #expect(client.session.isClosing)
    }

    @Test func `law 7: an unreadable range of the journal ends only the sessions that need it`()
        throws
    {
        var limits = DaemonLimits()
        limits.ringTransactions = 1
        let bench = try EngineBench(limits: limits)
        let saver = try bench.client()
        let text = PropertyValue.string(String(repeating: "x", count: 30_000))
        for number in UInt64(1)...20 {
            try saver.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        let hello = Hello(author: "late", resume: bench.position.at(1), interests: ["Node"])
        let late = try bench.client(hello)
        #expect(late.welcome?.resumed == true && late.session.lagPosition != nil)
        // Simulates a process without free descriptors when the next segment is opened.
        bench.bench.disk.faults.opensUntilFailure = 1
        bench.bench.disk.faults.openErrno = 24
        for _ in 0..<100 where !late.session.isClosing {
            try late.read()
            try bench.engine.serve(late.session)
        }
        try late.read()
        #expect(late.isClosed && late.failure?.code == .storage)
        #expect(bench.engine.status["refusedByReason"]?["unreadable"] == .int(1))
        try saver.save([try bench.bench.insert("Node", 21)])
        // The client reconnects, and nothing is missing.
        let cursor = bench.position.at(late.machine.cursor)
        let again = try bench.client(Hello(author: "late", resume: cursor, interests: ["Node"]))
        _ = try again.ask(.sync(Sync(number: bench.position.number)))
        let positions = (late.pushes + again.pushes).map(\.transaction.position)
        #expect(positions == Array(2...bench.position.number))
    }
}
