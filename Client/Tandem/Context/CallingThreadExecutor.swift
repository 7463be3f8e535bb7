import Synchronization
import TandemModel

/// Runs an async function to completion on the calling thread.
///
/// The function must not suspend: it must block the thread whenever it waits (``DaemonCalls``). It
/// runs as a task that prefers this executor. The executor queues the task's jobs, and the calling
/// thread runs them until the task has ended.
final class CallingThreadExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    private func next() -> UnownedJob? {
        jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    private func run(_ job: UnownedJob, isolatedTo actor: (any Actor)?) {
        guard let actor else { return job.runSynchronously(on: asUnownedTaskExecutor()) }
        job.runSynchronously(
            isolatedTo: actor.unownedExecutor, taskExecutor: asUnownedTaskExecutor())
    }

    /// Runs a function on the calling thread, which must be isolated to `actor` if that is not nil.
    ///
    /// Code called by the function may assume this isolation (`assumeIsolated`). Cost: a task,
    /// about half a microsecond.
    static func run<Output>(
        isolatedTo actor: (any Actor)? = nil, _ function: () async throws -> Output
    ) throws -> Output {
        let executor = CallingThreadExecutor()
        // Guard: the task only runs in the loop below, on this thread.
        nonisolated(unsafe) var result: Result<Output, any Error>?
        withoutActuallyEscaping(function) { function in
            // Guard: as above.
            nonisolated(unsafe) let function = function
            Task(executorPreference: executor) {
                do {
                    result = .success(try await function())
                } catch {
                    result = .failure(error)
                }
            }
            while let job = executor.next() { executor.run(job, isolatedTo: actor) }
            // A suspended task would still use the function after this scope.
            require(result != nil, "An operation must not suspend in its blocking form.")
        }
        guard let result else { preconditionFailure("The result is checked above.") }
        return try result.get()
    }
}
