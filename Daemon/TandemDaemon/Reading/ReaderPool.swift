import DequeModule
import TandemIO

/// An executor of reads on snapshots.
protocol ReadExecutor: AnyObject {
    /// The number of additional jobs that can be submitted.
    var room: Int { get }

    /// Runs a job until it rests or is done (``ReadJob/advance(_:)``).
    func submit(_ job: ReadJob)

    /// Does the work that must be done on the daemon's thread.
    func work()

    /// Whether there is work for the daemon's next turn.
    var hasWork: Bool { get }

    /// Returns the jobs with progress since the last call.
    func drainProgress() -> [ReadJob]

    /// Closes the executor after all jobs have stopped; they must have been cancelled before.
    func close()
}

/// Threads that read snapshots, at normal priority: threads of lower priority would starve on a
/// busy machine.
///
/// The threads take turns (``ReaderTurns``): only a limited number run at a time. So a long read
/// delays short ones only for a turn, and the daemon's thread keeps its share of the processor.
/// Only the daemon's thread uses the pool: it submits jobs and collects their results.
final class ReaderPool: ReadExecutor {
    private let queue = WorkQueue<ReadJob>()
    private let news = Locked<[ReadJob]>([])
    private let busy = Locked(0)
    let turns: ReaderTurns
    private let wakeUp: WakeUp
    private var threads: [KernelThread] = []
    /// The maximum number of jobs that have a thread and a snapshot.
    private let capacity: Int

    private static let stackBytes = 4 << 20

    /// Creates a pool that runs `count` jobs at a time, and signals their progress through
    /// `wakeUp`.
    ///
    /// Throws ``IOError`` if the threads can't be started.
    init(turns count: Int, _ wakeUp: WakeUp) throws(IOError) {
        turns = ReaderTurns(count)
        capacity = max(DaemonLimits.readsBegun, 4 * count)
        self.wakeUp = wakeUp
        for _ in 0..<count { try startThread() }
    }

    private func startThread() throws(IOError) {
        let (queue, news, busy, turns, wakeUp) = (queue, news, busy, turns, wakeUp)
        threads.append(
            try KernelThread.start(name: "reader", stackBytes: Self.stackBytes) {
                let copy = ModelCopy()
                while let job = queue.dequeue() {
                    let turn = turns.acquire(user: job.user)
                    job.advance(during: turn, by: copy) { job in
                        news.withLock { $0.append(job) }
                        wakeUp.signal()
                    }
                    turn.end()
                    busy.withLock { $0 -= 1 }
                    // Now there is room for another job.
                    wakeUp.signal()
                }
            })
    }

    var room: Int { capacity - busy.withLock(\.self) }

    func submit(_ job: ReadJob) {
        let count = busy.withLock { busy in
            busy += 1
            return busy
        }
        job.waits(since: turns.now)
        // If no thread can be started, the job waits for an existing one.
        if count > threads.count { try? startThread() }
        queue.add(job)
    }

    func work() {}

    var hasWork: Bool { false }

    func drainProgress() -> [ReadJob] {
        news.withLock { news in
            defer { news = [] }
            return news
        }
    }

    func close() {
        queue.close()
        for thread in threads { thread.join() }
    }
}

/// An executor that runs one job in each turn of the daemon, on the daemon's thread.
///
/// Used by engines without a loop.
final class ReadsInTurns: ReadExecutor {
    private var queue: Deque<ReadJob> = []
    private var news: [ReadJob] = []
    /// The maximum number of jobs.
    var capacity = 4
    /// The number of times that a job was run until it rested or was done.
    private(set) var carriedOut = 0
    /// A predicate that decides whether the next job runs in this turn.
    var isDue: () -> Bool = { true }

    var room: Int { max(0, capacity - queue.count) }

    func submit(_ job: ReadJob) { queue.append(job) }

    func work() {
        guard !queue.isEmpty, isDue() else { return }
        carriedOut += 1
        queue.removeFirst().advance { news.append($0) }
    }

    var hasWork: Bool { !queue.isEmpty || !news.isEmpty }

    func drainProgress() -> [ReadJob] {
        defer { news = [] }
        return news
    }

    func close() { (queue, news) = ([], []) }
}
