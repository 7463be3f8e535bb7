import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The queue of syncs, ordered by position; syncs that wait for a later position cost nothing.
@Suite(.ownThread) struct IndexedHeapTests {
    @Test
    func `the first entry always has the least number, after any insertion, removal or change`() {
        var random = SplitMix64(seed: seed)
        var queue = IndexedHeap()
        var naive: [UInt64: UInt64] = [:]
        for _ in 0..<5_000 {
            let id = UInt64.random(in: 0..<60, using: &random)
            let leaves = Int.random(in: 0..<3, using: &random) == 0
            let number = leaves ? nil : UInt64.random(in: 0..<40, using: &random)
            queue.set(id, number)
            naive[id] = number
            #expect(queue.count == naive.count, "seed \(seed)")
            #expect(queue.first?.number == naive.values.min(), "seed \(seed)")
            #expect(queue.first.map { naive[$0.id] == $0.number } ?? true, "seed \(seed)")
        }
        var last: UInt64 = 0
        while let first = queue.first {
            #expect(first.number >= last && naive[first.id] == first.number, "seed \(seed)")
            last = first.number
            queue.set(first.id, nil)
        }
    }

    @Test func `law 7: a save gives no turn to sessions that wait for a later one`() throws {
        let bench = try EngineBench()
        let saver = try bench.client()
        let waiting = try (0..<20).map { _ in try bench.client() }
        let next = bench.position.number + 1
        for client in waiting {
            for _ in 0..<20 { _ = try client.send(.sync(Sync(number: next + 1_000))) }
        }
        let soon = try waiting[7].send(.sync(Sync(number: next)))
        while bench.engine.hasWork || waiting.contains(where: { $0.machine.inFlightCount == 0 }) {
            try bench.turn()
        }
        try bench.turn()
        while bench.engine.hasWork { try bench.turn() }
        #expect(bench.engine.syncs.count == 20)
        let before = bench.engine.queues.following.popCount
        try saver.save([try bench.bench.insert("Node", 1)])
        while bench.engine.hasWork { try bench.turn() }
        #expect(bench.engine.queues.following.popCount == before + 1)
        for client in waiting { try client.read() }
        #expect(waiting.flatMap(\.received).map(\.id) == [soon])
        #expect(bench.engine.syncs.nextPosition == next + 1_000)
        for client in waiting { bench.engine.disconnect(client.session, because: nil) }
        #expect(bench.engine.syncs.count == 0)
    }
}
