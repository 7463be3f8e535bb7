import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon
@testable import TandemStore

/// Checkpoints made because reads wait for them, and the housekeeping after checkpoints.
@Suite(.ownThread) struct ReadCheckpointTests {
    private let clock = ManualClock(monotonicNanoseconds: 1_000_000_000, wallMicroseconds: 1)
    private let bench: EngineBench
    private static let pause = DaemonLimits.readCheckpointNanoseconds

    init() throws {
        bench = try EngineBench.ofReaders(clock: clock)
        bench.makesCheckpoints = false
        try bench.insertNodes(10)
        try bench.bench.committer.checkpoint()
    }

    private let count = ClientMessage.fetch(
        Fetch(request: FetchDescriptor(entity: "Node"), kind: .count))

    private var checkpoints: (all: UInt64, forReads: UInt64) {
        let counters = bench.engine.committer.counters
        return (counters.checkpoints.count, counters.readCheckpoints)
    }

    private func save(_ number: UInt64) throws {
        try bench.bench.save([try bench.bench.insert("Node", number)])
    }

    private func turns(_ count: Int = 3) throws { for _ in 0..<count { try bench.turn() } }

    @Test func `law 7: a checkpoint for reads is not made early, and all waiting reads share it`()
        throws
    {
        let last = clock.monotonicNanoseconds
        try save(100)
        let askers = try (0..<2).map { _ in try bench.client() }
        let before = checkpoints
        let ids = try askers.map { try $0.send(count) }
        for _ in 0..<3 {
            try turns()
            #expect(checkpoints == before && bench.engine.reads.nextDeadline == last + Self.pause)
            // The daemon has no work in the meantime.
            #expect(!bench.engine.hasWork)
            clock.advance(byNanoseconds: Self.pause / 4)
        }
        clock.advance(byNanoseconds: Self.pause / 4)
        for (asker, id) in zip(askers, ids) {
            #expect(try asker.answer(id).fetched.count == 11)
        }
        #expect(checkpoints.all == before.all + 1 && checkpoints.forReads == before.forReads + 1)
        #expect(bench.engine.status["reads"]?["checkpoints"]?.int == Int64(checkpoints.forReads))
        #expect(bench.engine.reads.nextDeadline == nil)
    }

    @Test func `law 7: a checkpoint for reads waits for four times the duration of the last one`()
        throws
    {
        let length = 3 * Self.pause
        bench.bench.store.observeCommits { [clock] (moment, _) throws(StoreError) in
            if moment == .before { clock.advance(byNanoseconds: length) }
        }
        try save(100)
        try bench.bench.committer.checkpoint()
        let last = clock.monotonicNanoseconds
        try save(101)
        let asker = try bench.client()
        let before = checkpoints
        let id = try asker.send(count)
        try turns()
        #expect(bench.engine.reads.nextDeadline == last + 4 * length)
        clock.advance(byNanoseconds: 4 * length - 1)
        try turns()
        #expect(checkpoints == before)
        clock.advance(byNanoseconds: 1)
        #expect(try asker.answer(id).fetched.count == 12)
        #expect(checkpoints.forReads == before.forReads + 1)
    }

    @Test func `no checkpoint is made for saves that the last one includes, nor for little reads`()
        throws
    {
        let before = checkpoints
        let asker = try bench.client()
        #expect(try asker.ask(count).fetched.count == 10)
        bench.engine.reads.smallReadWork = DaemonLimits.smallReadWork
        for number in UInt64(100)..<110 {
            try save(number)
            clock.advance(byNanoseconds: 10 * Self.pause)
            #expect(try asker.ask(count).fetched.count == number - 89)
            let object = try bench.bench.reference("Node", number)
            let found = try asker.ask(.read(Read(objects: [object]))).objects
            #expect(found.objects.map(\.object) == [object])
            #expect(found.position == bench.position.number)
        }
        #expect(checkpoints == before)
    }

    @Test
    func `law 4: while the store is short of space reads continue, and include earlier saves`()
        throws
    {
        bench.engine.reads.smallReadWork = 0
        try save(100)
        bench.engine.committer.enterReadOnly(.store, "no room")
        #expect(!bench.engine.committer.canCommit)
        let before = checkpoints
        let asker = try bench.client()
        for _ in 0..<3 {
            let found = try asker.ask(count).fetched
            #expect(found.count == 11 && found.position == bench.position.number)
        }
        #expect(checkpoints == before && bench.engine.reads.bytes.held == 0)
        #expect(bench.engine.reads.running.isEmpty)
    }

    @Test func `law 7: while the store is short of space one read is run per turn`() throws {
        bench.engine.reads.smallReadWork = 0
        bench.holdReaders(true)
        try save(100)
        let askers = try (0..<4).map { _ in try bench.client() }
        let ids = try askers.map { try $0.send(count) }
        while bench.engine.reads.waiting.count + bench.engine.reads.running.count < 4 {
            try bench.turn()
        }
        #expect(bench.engine.reads.running.isEmpty)
        bench.engine.committer.enterReadOnly(.store, "no room")
        for left in (0..<4).reversed() {
            try bench.turn()
            #expect(bench.engine.reads.waiting.count == left)
        }
        for (asker, id) in zip(askers, ids) { #expect(try asker.answer(id).fetched.count == 11) }
    }

    /// A clock that advances by a millisecond with each reading.
    private final class BusyClock: Clock {
        private let clock = ManualClock()
        var wallMicroseconds: Int64 { clock.wallMicroseconds }
        var monotonicNanoseconds: UInt64 {
            clock.advance(byNanoseconds: 1_000_000)
            return clock.monotonicNanoseconds
        }
    }

    @Test func `law 7: while the store is short of space a read that takes long ends`() throws {
        let bench = try EngineBench.ofReaders(clock: BusyClock())
        try bench.insertNodes(1_000, isGrouped: true)
        bench.engine.committer.enterReadOnly(.store, "no room")
        let asker = try bench.client()
        // Evaluating a node reads all nodes of its group.
        var slow = Fetch(request: FetchDescriptor(entity: "Node"), kind: .count)
        slow.request.predicate = try ObjectPredicate(
            format: "SUBQUERY(group.nodes, $n, $n.rank > 1000).@count > 0")
        #expect(try asker.ask(count).fetched.count == 1_000)
        guard case .failure(let error) = try asker.ask(.fetch(slow)) else {
            Issue.record("the read was answered")
            return
        }
        #expect(error.code == .timeout && error.message.contains("free disk space"), "\(error)")
        #expect(bench.engine.reads.running.isEmpty && bench.engine.reads.bytes.held == 0)
        #expect(try asker.ask(count).fetched.count == 1_000)
    }

    @Test func `while the store is short of space large answers are sent to their end too`() throws
    {
        var limits = DaemonLimits()
        limits.chunkBytes = 1
        let bench = try EngineBench.ofReaders(limits: limits, clock: clock)
        try bench.insertNodes(300)
        bench.engine.committer.enterReadOnly(.store, "no room")
        let asker = try bench.client()
        let found = try asker.fetch(Fetch(request: FetchDescriptor(entity: "Node")))
        #expect(found.objects.count == 300 && bench.engine.reads.bytes.held == 0)
        #expect(bench.engine.reads.running.isEmpty)
    }

    @Test func `a lease that commits the store counts as a checkpoint`() throws {
        let committer = bench.bench.committer
        let before = (checkpoints.all, committer.committedBytes)
        for _ in 0..<DaemonLimits.leasesReserved where checkpoints.all == before.0 {
            try save(100 + bench.position.number)
            clock.advance(byNanoseconds: 3)
            _ = try committer.lease(1 << 20)
        }
        #expect(checkpoints.all == before.0 + 1 && committer.committedBytes > before.1)
        // The next checkpoint for reads is delayed as after any other checkpoint.
        try save(50)
        #expect(try committer.checkpointForReads() == clock.monotonicNanoseconds + Self.pause)
    }

    @Test func `law 7: checkpoints for reads include the removal of blobs at intervals only`() {
        var sweep = StoreSweep()
        let pause = DaemonLimits.housekeepingNanoseconds
        #expect(sweep.isDue(pause, isForReads: true))
        // Some blobs remain for the next sweep.
        sweep.didSweep(below: nil, at: pause)
        #expect(sweep.blobsBelow == 0)
        #expect(!sweep.isDue(2 * pause - 1, isForReads: true))
        #expect(sweep.isDue(2 * pause - 1, isForReads: false))
        // Checkpoints for reads can replace all others.
        #expect(sweep.isDue(2 * pause, isForReads: true))
        sweep.didSweep(below: 7, at: 2 * pause)
        #expect(sweep.blobsBelow == 7)
    }

    @Test func `housekeeping after checkpoints has an interval of its own`() {
        var housekeeping = Housekeeping()
        let pause = DaemonLimits.housekeepingNanoseconds
        func isDue(_ checkpoints: UInt64, _ time: UInt64) -> Bool {
            housekeeping.consumeDue(checkpoints: checkpoints, time)
        }
        #expect(!isDue(0, 5))
        #expect(isDue(1, 10) && housekeeping.due == nil)
        // Without another checkpoint no housekeeping is due.
        #expect(!isDue(1, 10 + 5 * pause) && housekeeping.due == nil)
        #expect(isDue(2, 10 + 5 * pause))
        // Housekeeping runs once for many checkpoints when it is due, without another checkpoint.
        let last = 10 + 5 * pause
        #expect(!isDue(3, last + 1) && housekeeping.due == last + pause)
        #expect(!isDue(9, last + pause - 1) && housekeeping.due == last + pause)
        #expect(isDue(9, last + pause) && housekeeping.due == nil)
        #expect(!isDue(9, last + 3 * pause))
    }
}
