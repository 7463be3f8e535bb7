import TandemIO
package import Testing

/// A trait that runs each test of a suite on threads of its own, so that the test may block.
///
/// Swift has only one cooperative thread per core: tests that block these threads stop every other
/// task of the process. Each suite has this trait or is isolated to the main actor, whose thread
/// may block.
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
    /// A trait that runs tests on threads of their own, where they may block.
    package static var ownThread: OwnThread { OwnThread() }
}

/// An executor that starts a thread for each job, so that a blocking job delays no other.
///
/// Tasks that a test detaches, or starts from the main actor, need it if they block: they don't
/// inherit the threads of ``OwnThread``.
package final class ThreadPerJob: TaskExecutor {
    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            // Eight megabytes, like the main thread, because tests compare deep structures.
            _ = try KernelThread.start(name: "test", stackBytes: 8 << 20) { [self] in
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        } catch {
            preconditionFailure("no thread for a test: \(error)")
        }
    }
}
