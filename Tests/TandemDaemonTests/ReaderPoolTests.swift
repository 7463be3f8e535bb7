import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// The threads that read snapshots.
@Suite(.ownThread) struct ReaderPoolTests {
    /// A pool, and the thread that submits jobs to it, as a daemon does.
    private final class Bench {
        let bench: CommitBench
        let pool: ReaderPool
        private let wakeUp: WakeUp
        private let poller: Poller
        private var snapshots: [WeakSnapshot] = []

        private struct WeakSnapshot {
            weak var snapshot: StoreSnapshot?
        }

        /// Creates a store with nodes, and a pool that runs `turns` jobs at a time.
        init(nodes: Int, turns: Int, chunkBytes: Int = AnswerChunker.chunkBytes) throws {
            var limits = DaemonLimits()
            limits.chunkBytes = chunkBytes
            bench = try CommitBench(limits: limits)
            for number in 1...nodes {
                try bench.save([
                    try bench.insert("Node", UInt64(number), ["rank": .int(Int64(number % 7))])
                ])
            }
            try bench.committer.checkpoint()
            wakeUp = try WakeUp()
            poller = try Poller()
            try poller.add(wakeUp.descriptor, token: 1, interest: .read)
            pool = try ReaderPool(turns: turns, wakeUp)
        }

        /// Returns a job that fetches all nodes, and holds the only reference to its snapshot.
        func job() throws -> ReadJob {
            let fetch = Fetch(
                request: FetchDescriptor(entity: "Node", sort: ["-rank"]), kind: .rows)
            let asked = try bench.ask(.fetch(fetch))
            let snapshot = try bench.store.snapshot()
            snapshots.append(WeakSnapshot(snapshot: snapshot))
            return try bench.job(asked, snapshot: snapshot)
        }

        /// The number of snapshots that jobs still hold.
        var heldSnapshots: Int { snapshots.count { $0.snapshot != nil } }

        /// Waits for progress, and calls `body` with each job that made some.
        func awaitProgress(_ body: (ReadJob) throws -> Void) throws {
            var events: [Poller.Event] = []
            try poller.wait(timeoutMilliseconds: 60_000, into: &events)
            try #require(!events.isEmpty, "the pool did not signal")
            wakeUp.clear()
            for job in pool.drainProgress() { try body(job) }
        }

        /// Waits until a job rests or is done.
        func awaitRest(_ job: ReadJob) throws {
            while job.isSubmitted { try awaitProgress { _ = $0.consumeProgress() } }
        }

        /// Waits until no thread works on a job.
        func awaitRoom(_ room: Int) throws {
            while pool.room < room { try awaitProgress { _ = $0.consumeProgress() } }
        }
    }

    /// Returns the messages of a job, decoded.
    private func messages(_ job: ReadJob) throws -> [DaemonMessage] {
        var decoder = DaemonMessageDecoder()
        var messages: [DaemonMessage] = []
        while let message = job.dequeueMessage() {
            decoder.append(message.bytes)
            while let envelope = try decoder.next() { messages.append(envelope.message) }
        }
        return messages
    }

    @Test func `every job of a full pool is answered, and then there is room again`() throws {
        let bench = try Bench(nodes: 200, turns: 2)
        let (pool, room) = (bench.pool, bench.pool.room)
        let expected = try bench.bench.answer(try bench.job())
        let jobs = try (0..<room).map { _ in try bench.job() }
        // No job runs until both turns are given back.
        let turns = (0..<2).map { _ in pool.turns.acquire(user: 9) }
        for (number, job) in jobs.enumerated() {
            #expect(pool.room == room - number)
            pool.submit(job)
        }
        #expect(pool.room == 0)
        for turn in turns { turn.end() }
        var done: Set<ObjectIdentifier> = []
        while done.count < jobs.count {
            try bench.awaitProgress { job in
                guard job.consumeProgress().phase == .done else { return }
                // Progress that was read before its announcement is announced again.
                done.insert(ObjectIdentifier(job))
            }
        }
        try bench.awaitRoom(room)
        for job in jobs {
            #expect(!job.hasFailed)
            #expect(try messages(job) == [expected])
        }
        pool.close()
    }

    @Test func `a job that rests has no thread and no snapshot, and continues when submitted`()
        throws
    {
        let bench = try Bench(nodes: 200, turns: 1, chunkBytes: 256)
        let (pool, room) = (bench.pool, bench.pool.room)
        let job = try bench.job()
        pool.submit(job)
        try bench.awaitRest(job)
        try bench.awaitRoom(room)
        #expect(!job.isReading && job.consumeProgress().phase == .resting)
        #expect(!job.endRest(), "the buffer is full")
        #expect(bench.heldSnapshots == 0)
        var (parts, rests) = (try messages(job), 0)
        while job.endRest() {
            rests += 1
            pool.submit(job)
            try bench.awaitRest(job)
            parts += try messages(job)
        }
        #expect(rests > 1)
        #expect(job.consumeProgress().phase == .done && !job.hasFailed)
        #expect(parts.count > 8 && parts.last?.isLastOfAnswer == true)
        pool.close()
    }

    @Test func `closing waits for a cancelled job that waits for its turn`() throws {
        let bench = try Bench(nodes: 200, turns: 1)
        let pool = bench.pool
        let turn = pool.turns.acquire(user: 9)
        let (job, other) = (try bench.job(), try bench.job())
        pool.submit(job)
        while !pool.turns.isAwaited {}
        _ = (job.cancel(), other.cancel())
        let events = Locked<[String]>([])
        // Guard: the daemon's thread, which this one stands for, does not use the pool meanwhile.
        nonisolated(unsafe) let closing = pool
        let closer = try KernelThread.start(name: "closer") {
            closing.close()
            events.withLock { $0.append("closed") }
        }
        events.withLock { $0.append("turn given back") }
        turn.end()
        closer.join()
        #expect(events.withLock(\.self) == ["turn given back", "closed"])
        #expect(!job.isSubmitted && job.consumeProgress().phase == .done && job.hasFailed)
        // A job that was never submitted keeps its snapshot until it is discarded.
        #expect(bench.heldSnapshots == 1 && other.isSubmitted)
        other.discard()
        #expect(bench.heldSnapshots == 0)
    }
}
