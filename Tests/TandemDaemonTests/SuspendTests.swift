import TandemIO
import TandemJournal
import TandemModel
import TandemWire
import Testing

@testable import TandemDaemon

extension ManualClock {
    /// Simulates a suspended machine: the wall clock advances, the monotonic clock does not.
    fileprivate func sleepDays(_ days: Int64) {
        setWall(microseconds: wallMicroseconds + days * 86_400_000_000)
    }
}

/// A suspended machine: the time of the suspension must not count toward timeouts.
@Suite(.ownThread) struct SuspendTests {
    let clock = ManualClock(
        monotonicNanoseconds: 1_000_000_000, wallMicroseconds: 1_700_000_000_000_000)

    @Test func `law 7: a suspension times out no client, and timeouts work after it`() throws {
        let bench = try EngineBench(clock: clock)
        let silent = try bench.peer()
        let client = try bench.client()
        let id = try client.send(.sync(Sync(number: 99, timeoutMilliseconds: 1_000)))
        try bench.turn()
        clock.sleepDays(30)
        bench.engine.expireHandshakes()
        try bench.turn()
        try client.read()
        #expect(!silent.session.isClosing && client.received.isEmpty)
        // The remaining second of the sync, and the remaining time for a hello.
        clock.advance(byNanoseconds: 1_000_000_000)
        guard case .failure(let error) = try client.answer(id) else {
            Issue.record("a position that does not exist was reached")
            return
        }
        #expect(error.code == .timeout && !silent.session.isClosing)
        clock.advance(byNanoseconds: 4_000_000_001)
        bench.engine.expireHandshakes()
        #expect(silent.session.isClosing && !client.session.isClosing)
    }

    @Test func `law 2: saves before and after a suspension are consecutive, numbers stay leased`()
        throws
    {
        let bench = try EngineBench(clock: clock)
        let client = try bench.client(Hello(author: "a", interests: ["Node"]))
        let lease = try #require(client.welcome?.lease)
        let first = try client.save([try bench.bench.insert("Node", lease.first)])
        clock.sleepDays(365)
        let second = try client.save([try bench.bench.insert("Node", lease.first + 1)])
        // The wall clock was wrong during the suspension, and is set back.
        clock.sleepDays(-700)
        let third = try client.save([try bench.bench.insert("Node", lease.first + 2)])
        #expect([second.position, third.position] == [first.position + 1, first.position + 2])
        try client.read()
        #expect(
            client.pushes.map(\.transaction.position)
                == [first.position, second.position, third.position])
        guard case .lease(let more) = try client.ask(.lease(count: 10)) else {
            Issue.record("no lease")
            return
        }
        #expect(more.first >= lease.first + UInt64(lease.count) && more.epoch == lease.epoch)
    }

    @Test func `a checkpoint is due as long after a suspension as before`() throws {
        let bench = try EngineBench(clock: clock)
        let client = try bench.client()
        try client.save([try bench.bench.insert("Node", 1)])
        let committer = bench.engine.committer
        let before = try committer.checkpointIfDue()
        #expect(before != nil)
        clock.sleepDays(30)
        #expect(try committer.checkpointIfDue() == before)
        clock.sleepDays(-60)
        #expect(try committer.checkpointIfDue() == before)
        clock.advance(byNanoseconds: UInt64(before ?? 0) * 1_000_000)
        #expect(try committer.checkpointIfDue() == nil)
        #expect(committer.store.checkpointPosition == committer.position)
    }

    @Test func `segments that aged during a suspension are removed at the next check`() throws {
        let bench = try EngineBench(clock: clock)
        let client = try bench.client()
        let text = PropertyValue.string(String(repeating: "x", count: 30_000))
        for number in UInt64(1)...20 {
            try client.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        try bench.engine.committer.checkpoint()
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepSeconds: 86_400))
        bench.engine.journalMaintenance.retain()
        let journal = bench.engine.committer.journal
        #expect(journal.bounds.first == 1)
        clock.sleepDays(30)
        // The suspension moved no timer: the next check runs as scheduled, at most an hour later.
        #expect(!bench.engine.journalMaintenance.isRetentionDue && journal.bounds.first == 1)
        clock.advance(byNanoseconds: DaemonLimits.retentionCheckSeconds * 1_000_000_000)
        #expect(bench.engine.journalMaintenance.isRetentionDue)
        bench.engine.journalMaintenance.retain()
        #expect(journal.bounds.first > 10)
        let next = try client.save([try bench.bench.insert("Node", 21)])
        #expect(next.position == bench.position.number)
    }
}
