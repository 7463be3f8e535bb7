import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// A poller without ready channels, on which each wait takes its full timeout.
private final class StillPoller: EventPoller {
    let clock: ManualClock
    private(set) var waits: [Int32] = []

    init(_ clock: ManualClock) { self.clock = clock }

    func add(_ target: Int32, token: UInt64, interest: Interest) {}

    func modify(_ target: Int32, token: UInt64, interest: Interest) {}

    func wait(timeoutMilliseconds: Int32, into events: inout [Poller.Event]) {
        events = []
        waits.append(timeoutMilliseconds)
        clock.advance(byNanoseconds: UInt64(max(0, timeoutMilliseconds)) * 1_000_000)
    }
}

@Suite(.ownThread) struct RetentionTests {
    let text = PropertyValue.string(String(repeating: "x", count: 30_000))

    /// Saves nodes of 30 kB with these numbers, four of which fill a segment, and makes a
    /// checkpoint.
    func fill(_ bench: EngineBench, _ saver: Peer, _ numbers: ClosedRange<UInt64>) throws {
        for number in numbers {
            try saver.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        try bench.bench.committer.checkpoint()
    }

    func first(_ bench: EngineBench) -> UInt64 { bench.bench.committer.journal.bounds.first }

    @Test func `a checkpoint is followed by the removal of segments`() throws {
        let bench = try EngineBench()
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepBytes: 400 << 10))
        let saver = try bench.client()
        for number in UInt64(1)...30 {
            try saver.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        let kept = try dump(bench.bench.store)
        // The transactions are not in the stored checkpoint yet.
        bench.engine.journalMaintenance.retain()
        #expect(first(bench) == 1)
        try bench.bench.committer.checkpoint()
        bench.engine.journalMaintenance.retain()
        #expect(first(bench) > 10)
        let bytes = bench.bench.committer.journal.segments.reduce(0) { $0 + $1.bytes }
        #expect(bytes <= 400 << 10)
        #expect(bench.engine.status["retention"]?["trimmedSegments"]?.int ?? 0 > 3)
        try bench.crash()
        #expect(try dump(bench.bench.store) == kept)
        #expect(first(bench) > 10)
    }

    @Test func `a segment's age is that of its transactions`() throws {
        let bench = try EngineBench()
        try fill(bench, try bench.client(), 1...20)
        let journal = bench.bench.committer.journal
        var retention = Retention(RetentionPolicy(keepSeconds: 3_600))
        let last = try #require(try bench.bench.transactions().last).time
        func plan(after seconds: Int64) -> RetentionPlan {
            let state = RetentionState(
                segments: journal.segments, checkpoint: journal.bounds.last, floors: [],
                now: last + seconds * 1_000_000)
            return retention.plan(state, journal)
        }
        #expect(plan(after: 3_500).segments == 0)
        #expect(plan(after: 3_700).trimBelow == journal.segments.last?.first)
    }

    @Test func `a segment whose age can't be read is a failure, not a young segment`() throws {
        let bench = try EngineBench()
        try fill(bench, try bench.client(), 1...20)
        let journal = bench.bench.committer.journal
        let oldest = try #require(journal.segments.first)
        let name = String(oldest.first, radix: 16)
        let path =
            journal.directory + "/" + String(repeating: "0", count: 16 - name.count) + name
            + ".journal"
        let file = try bench.bench.disk.open(path, .readWrite)
        try file.write([UInt8](repeating: 7, count: 4_096), at: 0)
        file.close()
        var retention = Retention(RetentionPolicy(keepSeconds: 3_600))
        let state = RetentionState(
            segments: journal.segments, checkpoint: journal.bounds.last, floors: [],
            now: .max / 2)
        #expect(retention.plan(state, journal).segments == 0)
        let failure = retention.status(of: journal)["failure"]?.string
        #expect(failure?.contains("position \(oldest.last) cannot be read") == true)
    }

    @Test func `an idle daemon removes aging segments in time, without waking often`()
        throws
    {
        let clock = ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1_800_000_000_000_000)
        let bench = try EngineBench(clock: clock)
        try fill(bench, try bench.client(), 1...20)
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepSeconds: 86_400))
        bench.engine.journalMaintenance.retain()
        #expect(first(bench) == 1)
        for session in bench.engine.admission.sessions.values {
            bench.engine.disconnect(session, because: nil)
        }
        let poller = StillPoller(clock)
        let loop = try ServiceLoop(bench.engine, listener: nil, poller: poller)
        let start = clock.wallMicroseconds
        for _ in 0..<100 where first(bench) == 1 { _ = try loop.pass() }
        #expect(first(bench) > 10)
        let seconds = (clock.wallMicroseconds - start) / 1_000_000
        #expect((86_400...86_500).contains(seconds))
        #expect(poller.waits.count < 30)
        // Afterwards there is no further deadline.
        for _ in 0..<3 { _ = try loop.pass() }
        #expect(poller.waits.last == -1)
    }

    @Test func `by default a week is kept, and more for a consumer`() throws {
        let clock = ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1_800_000_000_000_000)
        let bench = try EngineBench(clock: clock)
        _ = try bench.bench.committer.register("mirror", at: 1)
        try fill(bench, try bench.client(), 1...20)
        bench.engine.journalMaintenance.setPolicy(DaemonConfiguration(store: "bench").retention)
        for session in bench.engine.admission.sessions.values {
            bench.engine.disconnect(session, because: nil)
        }
        clock.advance(byNanoseconds: 8 * 86_400 * 1_000_000_000)
        bench.engine.journalMaintenance.retain()
        #expect(first(bench) == 1)
        _ = try bench.bench.committer.removeConsumer("mirror")
        try bench.bench.committer.checkpoint()
        bench.engine.journalMaintenance.retain()
        #expect(first(bench) > 10)
    }

    @Test func `an idle daemon performs several removal steps without waiting in between`() throws {
        let clock = ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1_800_000_000_000_000)
        let bench = try EngineBench(clock: clock)
        try fill(bench, try bench.client(), 1...60)
        let journal = bench.bench.committer.journal
        #expect(journal.segments.count > DaemonLimits.trimmedSegments + 1)
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepBytes: 0))
        for session in bench.engine.admission.sessions.values {
            bench.engine.disconnect(session, because: nil)
        }
        bench.engine.journalMaintenance.scheduleRetention()
        let poller = StillPoller(clock)
        let loop = try ServiceLoop(bench.engine, listener: nil, poller: poller)
        for _ in 0..<3 { _ = try loop.pass() }
        #expect(journal.segments.count == 1)
        #expect(poller.waits.first == 0)
    }

    @Test func `law 2: a session beyond the cap gets historyExpired and sees no gap before`()
        throws
    {
        let bench = try EngineBench()
        bench.engine.journalMaintenance.setPolicy(
            RetentionPolicy(keepBytes: 0, capBytes: 300 << 10))
        let slow = try bench.client(Hello(author: "slow", interests: ["Node"]))
        let saver = try bench.client()
        // More transactions than the ring holds in memory.
        try fill(bench, saver, 1...UInt64(DaemonLimits().ringBytes / 30_000 + 100))
        #expect(slow.session.sent < 80)
        for _ in 0..<100 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) > slow.session.sent + 1)
        for _ in 0..<200 where slow.failure == nil {
            try slow.read()
            try bench.turn()
            if !slow.session.isClosing { try bench.engine.serve(slow.session) }
        }
        #expect(slow.failure?.code == .historyExpired)
        let positions = slow.pushes.map(\.transaction.position)
        #expect(positions == Array(2..<UInt64(positions.count) + 2))
        #expect(bench.engine.journalMaintenance.retention.counters.expiredSessions == 1)
        // The reconnected session is not resumed, so it starts from a snapshot; others are
        // unaffected.
        let last = try #require(positions.last)
        let resume = Position(
            log: bench.position.log, epoch: bench.position.epoch, number: last)
        let again = try bench.client(Hello(author: "slow", resume: resume, interests: ["Node"]))
        #expect(again.welcome?.resumed == false)
        try saver.save([try bench.bench.insert("Node", 999)])
    }

    @Test func `below the cap a lagging session gets everything`() throws {
        let bench = try EngineBench()
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepBytes: 0))
        let slow = try bench.client(Hello(author: "slow", interests: ["Node"]))
        try fill(bench, try bench.client(), 1...100)
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) <= slow.session.sent + 1)
        for _ in 0..<500 where slow.pushes.count < 100 {
            try slow.read()
            try bench.turn()
            try bench.engine.serve(slow.session)
        }
        #expect(slow.pushes.map(\.transaction.position) == Array(2...101))
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) > 90)
    }

    @Test func `consumers retain the journal until they acknowledge, also across restarts`() throws
    {
        let bench = try EngineBench()
        let committer = bench.bench.committer
        _ = try committer.register("mirror", at: 1)
        try fill(bench, try bench.client(), 1...40)
        try committer.acknowledge("mirror", 20)
        try committer.acknowledge("mirror", 10)
        try fill(bench, try bench.client(), 41...44)
        try bench.crash()
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepBytes: 0))
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect((17...21).contains(first(bench)))
        #expect(try bench.bench.store.consumers() == [Consumer(name: "mirror", acknowledged: 20)])
        #expect(try bench.bench.committer.removeConsumer("mirror") != nil)
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) > 40)
        #expect(try bench.bench.committer.removeConsumer("mirror") == nil)
    }

    @Test func `a consumer beyond the cap is expired, gets an error, and registers again`() throws {
        let bench = try EngineBench()
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(capBytes: 300 << 10))
        let committer = bench.bench.committer
        _ = try committer.register("mirror", at: 1)
        try fill(bench, try bench.client(), 1...40)
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) > 2)
        #expect(bench.engine.journalMaintenance.retention.counters.expiredConsumers == 1)
        #expect(bench.engine.status["consumers"]?.array?.first?["expired"]?.bool == true)
        let error = #expect(throws: TandemError.self) { try committer.acknowledge("mirror", 41) }
        #expect(error?.code == .historyExpired)
        #expect(throws: TandemError.self) { try committer.register("mirror", at: 2) }
        let last = bench.position.number
        #expect(try committer.register("mirror", at: last).acknowledged == last)
        try committer.acknowledge("mirror", last)
    }

    @Test func `consumers have names, limits and positions that exist`() throws {
        let bench = try CommitBench()
        let committer = bench.committer
        func code(_ body: () throws -> Void) -> TandemError.Code? {
            #expect(throws: TandemError.self, performing: body)?.code
        }
        #expect(code { _ = try committer.register("", at: 0) } == .usage)
        let long = String(repeating: "n", count: 129)
        #expect(code { _ = try committer.register(long, at: 0) } == .usage)
        #expect(code { _ = try committer.register("a", at: 99) } == .usage)
        #expect(code { try committer.acknowledge("a", 1) } == .usage)
        #expect(try committer.register("a", at: 0).acknowledged == 0)
        #expect(code { try committer.acknowledge("a", .max) } == .usage)
        // A repeated registration keeps the position.
        #expect(try committer.register("a", at: 1).acknowledged == 0)
        for number in 1..<DaemonLimits().consumers {
            try bench.store.put(Consumer(name: "c\(number)", acknowledged: 0))
        }
        #expect(code { _ = try committer.register("z", at: 0) } == .limitExceeded)
        let before = try dump(bench.store)
        #expect(try committer.removeConsumer("a") != nil)
        #expect(try dump(bench.store) == before, "law 6: consumers are no part of the dump")
    }

    @Test func `a segment that can't be removed is retried and affects no client`() throws {
        let bench = try EngineBench()
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepBytes: 0))
        try fill(bench, try bench.client(), 1...12)
        // The first two syncs flush the record of the oldest position.
        bench.bench.disk.faults.syncsUntilFailure = 3
        bench.engine.journalMaintenance.retain()
        #expect(bench.engine.journalMaintenance.retention.counters.failure != nil)
        #expect(bench.log.lines.contains { $0.contains("trim-failed") })
        try fill(bench, try bench.client(), 13...20)
        bench.engine.journalMaintenance.retain()
        #expect(bench.engine.journalMaintenance.retention.counters.failure == nil)
    }
}
