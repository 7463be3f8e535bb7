import Glibc
import TandemIO

/// A run loop like those of GLib or Qt: a thread that waits in `poll`, runs queued jobs and handles
/// events of a descriptor.
///
/// An actor can use it as its executor.
final class HandMadeLoop: SerialExecutor {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var onClick: (@Sendable () -> Void)?
        var thread: pthread_t?
        var isOver = false
        var turns = 0
    }

    private let state = Locked(State())
    /// An eventfd, signalled when a job is queued.
    private let wake: WakeUp
    /// A second source of events, like a window system's connection.
    private let mouse: WakeUp

    init() throws {
        wake = try WakeUp()
        mouse = try WakeUp()
        _ = try KernelThread.start(name: "loop") { [self] in run() }
    }

    /// The number of iterations of the loop.
    var turns: Int { state.withLock { $0.turns } }

    /// Whether the calling thread is the loop's thread.
    var isCurrent: Bool {
        state.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Ends the loop after the jobs in its queue.
    func stop() {
        state.withLock { $0.isOver = true }
        wake.signal()
    }

    // MARK: A source of events

    /// Registers a plain callback, outside any task, for clicks; it runs on the loop's thread.
    func onClick(_ callback: @escaping @Sendable () -> Void) {
        state.withLock { $0.onClick = callback }
    }

    func click() { mouse.signal() }

    // MARK: Executors

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        perform { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    /// Appends a job to the queue.
    func perform(_ job: @escaping @Sendable () -> Void) {
        state.withLock { $0.jobs.append(job) }
        wake.signal()
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Allows callbacks outside any task to enter an actor by `assumeIsolated`.
    func checkIsolated() { precondition(isCurrent, "This is not the loop's thread.") }

    private func run() {
        state.withLock { $0.thread = pthread_self() }
        while true {
            var sources = [wake, mouse].map {
                pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
            }
            guard poll(&sources, 2, -1) > 0 else { continue }
            if sources[1].revents != 0 {
                mouse.clear()
                state.withLock { $0.onClick }?()
            }
            wake.clear()
            let (jobs, isOver) = state.withLock { state in
                state.turns += 1
                defer { state.jobs = [] }
                return (state.jobs, state.isOver)
            }
            for job in jobs { job() }
            if isOver, jobs.isEmpty { return }
            if isOver { wake.signal() }
        }
    }
}

/// A pool of exactly one thread for the tasks that prefer it.
final class OneThread: TaskExecutor {
    private let loop: HandMadeLoop

    init() throws { loop = try HandMadeLoop() }

    var isCurrent: Bool { loop.isCurrent }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.perform { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    func stop() { loop.stop() }
}
