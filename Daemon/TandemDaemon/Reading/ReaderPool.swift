import TandemIO

/// Carries out reads of snapshots.
protocol ReadExecutor: AnyObject {
    /// How many jobs it takes besides those it has.
    var room: Int { get }

    /// Carries out a job, as far as that goes (``ReadJob/advance(_:)``).
    func submit(_ job: ReadJob)

    /// Carries out what is to be done on the daemon's thread.
    func work()

    /// Whether the daemon's next turn is waited for.
    var hasWork: Bool { get }

    /// The jobs that came on since this was last asked.
    func takeNews() -> [ReadJob]

    /// Ends when no job is being carried out any more; all have to be cancelled before.
    func close()
}

/// Threads that read snapshots, at normal priority: lowered ones would starve on a busy machine.
///
/// They run in turns (``ReaderTurns``), fewer at a time than there are threads. So a long read delays
/// short ones for a turn only, and the daemon's thread keeps its share of the processor. Only the
/// daemon's thread uses the pool: it submits jobs and takes their results.
final class ReaderPool: ReadExecutor {
    private let queue = WorkQueue<ReadJob>()
    private let news = Locked<[ReadJob]>([])
    private let busy = Locked(0)
    private let turns: ReaderTurns
    private let wakeUp: WakeUp
    private var threads: [KernelThread] = []
    /// The largest number of jobs that have a thread and a snapshot.
    private let capacity: Int

    private static let stackBytes = 4 << 20

    /// A pool in which `count` jobs run at the same time, and that signals the progress of a job.
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
                while let job = queue.take() {
                    let turn = turns.take(user: job.user)
                    job.advance(during: turn, by: copy) { job in
                        news.withLock { $0.append(job) }
                        wakeUp.signal()
                    }
                    turn.end()
                    busy.withLock { $0 -= 1 }
                    // There is room for another job now.
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
        // If no thread can be started, the job waits for one of the others.
        if count > threads.count { try? startThread() }
        queue.add(job)
    }

    func work() {}

    var hasWork: Bool { false }

    func takeNews() -> [ReadJob] {
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

/// Carries out one job in each turn of the daemon, on its thread: for engines without a loop, and for simulations.
final class ReadsInTurns: ReadExecutor {
    private var queue: [ReadJob] = []
    private var news: [ReadJob] = []
    /// How many jobs it takes.
    var capacity = 4
    /// How many times it carried out a job, as far as that went.
    private(set) var carriedOut = 0
    /// Whether the next job is carried out in this turn.
    var isDue: () -> Bool = { true }

    var room: Int { max(0, capacity - queue.count) }

    func submit(_ job: ReadJob) { queue.append(job) }

    func work() {
        guard !queue.isEmpty, isDue() else { return }
        carriedOut += 1
        queue.removeFirst().advance { news.append($0) }
    }

    var hasWork: Bool { !queue.isEmpty || !news.isEmpty }

    func takeNews() -> [ReadJob] {
        defer { news = [] }
        return news
    }

    func close() { (queue, news) = ([], []) }
}
