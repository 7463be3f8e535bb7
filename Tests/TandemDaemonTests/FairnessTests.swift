import TandemIO
import TandemModel
import TandemWire
import Testing

@testable import TandemDaemon

/// The order of turns: no client waits for all requests of another.
@Suite(.ownThread) struct FairnessTests {
    @Test func `law 7: one save is in the first batch, however many another client has queued`()
        throws
    {
        let bench = try EngineBench()
        let (greedy, modest) = (try bench.client(), try bench.client())
        let queued = try (0..<WireLimits.requestsInFlight).map { index in
            try greedy.send(.save(greedy.saveRequest(try large(bench, index))))
        }
        let one = try modest.send(
            .save(modest.saveRequest([try bench.bench.insert("Node", 4_000)])))
        let counters = bench.engine.committer.counters
        try bench.turn()
        #expect(bench.engine.committer.counters.batches == counters.batches + 1)
        try modest.read()
        #expect(modest.received.map(\.id) == [one])
        try greedy.read()
        #expect(greedy.received.count < queued.count / 2)
        // The other saves are not lost.
        for id in queued {
            guard case .saved = try greedy.answer(id) else {
                Issue.record("save \(id) failed")
                return
            }
        }
    }

    @Test func `law 7: clients that save in a loop share the batches`() throws {
        let bench = try EngineBench()
        let savers = try (0..<4).map { _ in try bench.client() }
        for (index, saver) in savers.enumerated() {
            for save in 0..<(index == 0 ? 60 : 15) {
                let insert = try bench.bench.insert("Node", UInt64(index * 100 + save) + 1)
                _ = try saver.send(.save(saver.saveRequest([insert])))
            }
        }
        try bench.turn()
        for saver in savers { try saver.read() }
        #expect(savers[1...].allSatisfy { $0.received.count == 15 })
        #expect(savers[0].received.count == DaemonLimits.savesInTurn)
    }

    @Test func `law 7: a lagging session resumes after the timeout of a sync empties its socket`()
        throws
    {
        let clock = ManualClock()
        let bench = try EngineBench(engineClock: clock)
        let (slow, saver) = (
            try bench.client(Hello(author: "slow", interests: ["Node"])), try bench.client()
        )
        let sync = try slow.send(.sync(Sync(number: 1_000_000, timeoutMilliseconds: 5)))
        try bench.turn()
        var number = 0
        while !slow.session.isWaitingToWrite || slow.session.lagPosition == nil, number < 100 {
            number += 1
            try saver.save(try large(bench, number))
        }
        while bench.engine.hasWork { try bench.turn() }
        #expect(slow.session.isWaitingToWrite && slow.session.lagPosition != nil)
        // The client reads after the poller was queried, and the answer to the sync flushes the
        // waiting bytes.
        try slow.read()
        clock.advance(byNanoseconds: 10_000_000)
        try bench.turn()
        #expect(!slow.session.isWaitingToWrite && slow.session.lagPosition != nil)
        let hasWork = bench.engine.hasWork
        #expect(hasWork)
        for _ in 0..<100 where hasWork && slow.pushes.count < number {
            try bench.turn()
            try slow.read()
            if slow.session.isWaitingToWrite { bench.engine.resume(slow.session) }
        }
        #expect(slow.pushes.count == number)
        guard case .failure(let error) = try slow.answer(sync) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .timeout)
    }

    @Test func `law 7: saves resume when a slow reader has made room for their answers`() throws {
        var limits = DaemonLimits()
        limits.outboundBytes = 256 << 10
        let bench = try EngineBench(limits: limits)
        let slow = try bench.client()
        for number in 0..<3 { try slow.save(try large(bench, number)) }
        let objects = try (UInt64(1)...12).map { try bench.bench.reference("Node", $0) }
        _ = try slow.send(.read(Read(objects: objects)))
        for _ in 0..<20 where !slow.session.isOverfull { try bench.turn() }
        let before = bench.position.number
        _ = try slow.send(.save(slow.saveRequest([try bench.bench.insert("Node", 100)])))
        try bench.turn()
        #expect(slow.session.isOverfull && bench.position.number == before)
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        while slow.session.isOverfull, !slow.session.isClosing {
            _ = try buffer.withUnsafeMutableBytes { try slow.socket.read(into: $0) }
            bench.engine.resume(slow.session)
            try bench.turn()
        }
        try bench.turn()
        #expect(slow.session.isWaitingToWrite && bench.position.number == before + 1)
    }

    @Test func `law 2: a read after a save of the same client sees the save`() throws {
        let bench = try EngineBench()
        let client = try bench.client()
        var last: UInt32 = 0
        for number in UInt64(1)...40 {
            _ = try client.send(
                .save(client.saveRequest([try bench.bench.insert("Node", number)])))
        }
        last = try client.send(.read(Read(objects: [try bench.bench.reference("Node", 40)])))
        guard case .objects(let objects) = try client.answer(last) else {
            Issue.record("no objects")
            return
        }
        #expect(objects.objects.count == 1)
    }

    @Test func `law 7: a writer is answered before all followers are served`() throws {
        let bench = try EngineBench()
        let followers = try (0..<100).map { _ in
            try bench.client(Hello(author: "f", interests: ["Node"]))
        }
        let saver = try bench.client(Hello(author: "s", interests: ["Node"]))
        while bench.engine.hasWork { try bench.turn() }
        for number in UInt64(1)...3 {
            let insert = try bench.bench.insert("Node", number)
            let id = try saver.send(.save(saver.saveRequest([insert])))
            try bench.turn()
            try saver.read()
            #expect(saver.received.last?.id == id)
            // The writer's own transaction precedes the answer.
            #expect(saver.pushes.count == Int(number))
            for follower in followers { try follower.read() }
            let served = followers.reduce(0) { $0 + min(1, $1.pushes.count) }
            #expect(served == Int(number) * DaemonLimits.sliceSessions)
        }
        // A session that had to wait gets all three at once, and each session gets each once.
        while bench.engine.hasWork { try bench.turn() }
        for follower in followers {
            try follower.read()
            #expect(follower.pushes.map(\.transaction.position) == [2, 3, 4])
        }
    }

    @Test func `law 7: after a request that took long, saves precede the next request`() throws {
        let bench = try EngineBench(engineClock: HurriedClock())
        let askers = try (0..<4).map { _ in try bench.client() }
        let saver = try bench.client()
        while bench.engine.hasWork { try bench.turn() }
        for asker in askers { for _ in 0..<8 { _ = try asker.send(.read(Read())) } }
        for turn in 1...4 {
            let insert = try bench.bench.insert("Node", UInt64(turn))
            let save = try saver.send(.save(saver.saveRequest([insert])))
            try bench.turn()
            try saver.read()
            #expect(saver.received.last?.id == save)
            for asker in askers { try asker.read() }
            // At most one request between two batches, whoever sent it.
            #expect(askers.reduce(0) { $0 + $1.received.count } <= turn)
        }
        // Each client has its turn, although the first has more requests.
        #expect(askers.map(\.received.count) == [1, 1, 1, 1])
        while bench.engine.hasWork { try bench.turn() }
        for asker in askers {
            try asker.read()
            #expect(asker.received.count == 8)
        }
    }

    /// A clock that advances by almost a whole slice between two readings.
    private final class HurriedClock: Clock {
        private let clock = ManualClock()
        var wallMicroseconds: Int64 { clock.wallMicroseconds }
        var monotonicNanoseconds: UInt64 {
            clock.advance(byNanoseconds: DaemonLimits.sliceNanoseconds - 1)
            return clock.monotonicNanoseconds
        }
    }

    @Test func `law 7: many requests of one client are answered in several turns`() throws {
        let bench = try EngineBench(engineClock: ManualClock())
        let (curious, other) = (try bench.client(), try bench.client())
        for _ in 0..<60 { _ = try curious.send(.read(Read())) }
        _ = try other.send(.read(Read()))
        try bench.turn()
        try curious.read()
        try other.read()
        #expect(curious.received.count == DaemonLimits.requestsInTurn)
        #expect(other.received.count == 1)
        while bench.engine.hasWork { try bench.turn() }
        try curious.read()
        #expect(curious.received.count == 60)
    }

    private func large(_ bench: EngineBench, _ index: Int) throws -> [SaveOperation] {
        let text = PropertyValue.string(String(repeating: "x", count: 60_000))
        return try (0..<4).map {
            try bench.bench.insert("Node", UInt64(index * 4 + $0) + 1, ["name": text])
        }
    }
}
