import TandemIO

@testable import TandemDaemon

/// The readers of a simulated daemon: threads that run one at a time, and only while the daemon's
/// thread waits for them.
///
/// The world chooses which reader runs in a turn, and when it is interrupted. So saves,
/// checkpoints, cancellations and crashes happen in the middle of reads, and a seed always gives
/// the same run.
final class SimulatedReaders: ReadExecutor {
    private var active: [SimulatedReader] = []
    private let news = Locked<[ReadJob]>([])
    private let clock: any Clock
    /// The number of jobs that ended or rested.
    private(set) var carriedOut = 0
    /// The number of turns that ended in the middle of a job.
    private(set) var interrupted = 0
    /// Chooses one of several readers, and the number of times that it runs until it passes its
    /// turn on; nil if no reader runs in this turn.
    var choose: (_ count: Int) -> (index: Int, slices: Int)? = { _ in (0, .max) }

    init(_ clock: any Clock) { self.clock = clock }

    var room: Int { max(0, 4 - active.count) }

    func submit(_ job: ReadJob) {
        job.waits(since: clock.monotonicNanoseconds)
        active.append(SimulatedReader(job, news, clock))
    }

    func work() {
        guard !active.isEmpty, let (index, slices) = choose(active.count) else { return }
        guard active[index].run(slices: slices) else { return interrupted += 1 }
        active.remove(at: index)
        carriedOut += 1
    }

    var hasWork: Bool { !active.isEmpty || news.withLock { !$0.isEmpty } }

    func drainProgress() -> [ReadJob] {
        news.withLock { news in
            defer { news = [] }
            return news
        }
    }

    func close() {
        for reader in active { _ = reader.run(slices: .max) }
        active = []
        _ = drainProgress()
    }
}

/// A thread that carries out one job.
private final class SimulatedReader {
    private let turn: SimulatedTurn
    private let thread: KernelThread

    init(_ job: ReadJob, _ news: Locked<[ReadJob]>, _ clock: any Clock) {
        let turn = SimulatedTurn(clock)
        self.turn = turn
        do {
            thread = try KernelThread.start(name: "reader", stackBytes: 4 << 20) {
                turn.begin()
                job.advance(during: turn, by: ModelCopy()) { job in
                    news.withLock { $0.append(job) }
                }
                turn.end()
            }
        } catch {
            fatalError("A reader's thread cannot be started: \(error)")
        }
    }

    /// Runs the job until it has passed its turn on `slices` times or has ended; returns whether it
    /// has ended.
    func run(slices: Int) -> Bool {
        for _ in 0..<slices {
            guard turn.run() else { continue }
            thread.join()
            return true
        }
        return false
    }
}

/// The turn of a simulated reader, which it passes on whenever it could.
private final class SimulatedTurn: ReadTurn, Sendable {
    private let granted = WorkQueue<Void>()
    private let returned = WorkQueue<Bool>()
    private let clock: any Clock

    init(_ clock: any Clock) { self.clock = clock }

    // MARK: On the daemon's thread

    /// Runs the reader until it passes the turn on or ends; returns whether it has ended.
    func run() -> Bool {
        granted.add(())
        return returned.dequeue() ?? true
    }

    // MARK: On the reader's thread

    var now: UInt64 { clock.monotonicNanoseconds }

    var isOver: Bool { true }

    func begin() { _ = granted.dequeue() }

    func passOn() {
        returned.add(false)
        _ = granted.dequeue()
    }

    func end() { returned.add(true) }
}
