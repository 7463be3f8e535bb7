import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// What a journal that can't be read just now, as without descriptors, does to whom.
@Suite struct UnreadableTests {
    private var smallRing: DaemonLimits {
        var limits = DaemonLimits()
        limits.ringTransactions = 1
        return limits
    }

    @Test func `law 3: a replay that can't read the journal is final and no client's mistake`()
        throws
    {
        let bench = try CommitBench(
            mapBytes: 256 << 10, segmentBytes: 8 << 20, limits: smallRing)
        let text = Value.string(String(repeating: "x", count: 20_000))
        bench.disk.faults.failingOpen = 1
        var failure: (any Error)?
        for number in 1...100 as ClosedRange<UInt64> where failure == nil {
            do {
                try bench.save([bench.insert("Node", number, ["name": text])])
            } catch {
                failure = error
            }
        }
        #expect((failure as? DaemonError)?.code == .storage, "\(String(describing: failure))")
    }

    @Test func `law 7: who needs what can't be read is ended alone, and comes back`() throws {
        let bench = try EngineBench(limits: smallRing)
        let saver = try bench.client()
        let start = bench.position
        for number in 1...5 as ClosedRange<UInt64> {
            try saver.save([try bench.bench.insert("Node", number)])
        }
        let hello = Hello(author: "late", resume: start, interests: ["Node"])
        bench.bench.disk.faults.failingOpen = 1
        let late = try bench.client(hello)
        for _ in 0..<10 where late.failure == nil {
            try bench.turn()
            try late.read()
        }
        #expect(late.failure?.code == .storage)
        #expect(late.pushes.isEmpty)
        try saver.save([try bench.bench.insert("Node", 6)])
        let again = try bench.client(hello)
        for _ in 0..<20 where again.pushes.count < 6 {
            try bench.turn()
            try again.read()
        }
        let positions = again.pushes.map(\.transaction.position)
        #expect(positions == (1...6).map { start.number + $0 })
    }
}
