import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// The effects of a journal that is temporarily unreadable, for instance without free descriptors.
@Suite(.ownThread) struct UnreadableTests {
    private var smallRing: DaemonLimits {
        var limits = DaemonLimits()
        limits.ringTransactions = 1
        return limits
    }

    @Test
    func `law 3: a replay that can't read the journal is fatal, and is not blamed on a client`()
        throws
    {
        let bench = try CommitBench(segmentBytes: 8 << 20, limits: smallRing)
        for number in 1...10 as ClosedRange<UInt64> {
            try bench.save([bench.insert("Node", number)])
        }
        // The batch finds no space, so the store returns to its checkpoint and needs the journal.
        bench.disk.faults.writesUntilFailure = 1
        bench.disk.faults.writeErrno = 28
        bench.disk.faults.opensUntilFailure = 1
        let failure = #expect(throws: DaemonError.self) {
            try bench.save([bench.insert("Node", 11)])
        }
        #expect(failure?.code == .storage, "\(String(describing: failure))")
    }

    @Test func `law 7: only the session that needs unreadable segments is closed, and it resumes`()
        throws
    {
        let bench = try EngineBench(limits: smallRing)
        let saver = try bench.client()
        let late = try bench.client(Hello(author: "late", interests: ["Node"]))
        let start = bench.position
        let text = PropertyValue.string(String(repeating: "x", count: 30_000))
        // These saves exceed the capacity of the session's socket and queue.
        for number in 1...120 as ClosedRange<UInt64> {
            try saver.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        #expect(late.session.lagPosition != nil)
        bench.bench.disk.faults.opensUntilFailure = 1
        for _ in 0..<200 where late.failure == nil {
            try late.read()
            try bench.turn()
            if !late.session.isClosing { try bench.engine.serve(late.session) }
        }
        #expect(late.failure?.code == .storage)
        #expect(late.pushes.count < 120)
        try saver.save([try bench.bench.insert("Node", 121)])
        let hello = Hello(author: "late", resume: start, interests: ["Node"])
        let again = try bench.client(hello)
        for _ in 0..<200 where again.pushes.count < 121 {
            try bench.turn()
            try bench.engine.serve(again.session)
            try again.read()
        }
        let positions = again.pushes.map(\.transaction.position)
        #expect(positions == (1...121).map { start.number + $0 })
    }
}
