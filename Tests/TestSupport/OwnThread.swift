import TandemIO
package import Testing

/// Runs each test of a suite on threads of its own, so that it may block.
///
/// Swift's cooperative threads are as few as the cores: tests that block them stop every other task
/// of the process. Each suite has this trait or is isolated to the main actor, whose thread may block.
///
///     @Suite(.ownThread) struct SocketTests { … }
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadPerJob()) { try await function() }
    }
}

extension Trait where Self == OwnThread {
    /// The tests run on threads of their own and may block.
    package static var ownThread: OwnThread { OwnThread() }
}

/// An executor that starts a thread for each job, so that a job that blocks delays no other.
private final class ThreadPerJob: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            // Tests compare deep structures: eight megabytes, as the main thread has.
            _ = try KernelThread.start(name: "test", stackBytes: 8 << 20) { [self] in
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        } catch {
            preconditionFailure("no thread for a test: \(error)")
        }
    }
}
