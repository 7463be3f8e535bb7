import TandemIO
import TestSupport
import Testing

/// A long run of all kinds of clients at once; `TANDEM_SOAK=3600` makes it last an hour.
///
/// The mix includes saves, lists, fetches, observers, kills, restarts and backups, but no batches,
/// pins, reads at earlier positions, consumers, long values or roles.
@Suite(.ownThread) struct SoakTests {
    /// The requested length, in seconds.
    private static let asked = ThisProcess.environment("TANDEM_SOAK").flatMap { UInt64($0) }

    @Test
    func `laws 2 to 6 and 8: kills, restarts, backups and expired readers for the requested time`()
        async throws
    {
        let problems = try await onThread {
            let plan = SoakPlan(
                seed: seed, seconds: Self.asked ?? Volume.of(6, deep: 120), savers: 3, watchers: 3)
            let world = try SoakWorld(
                plan, seed: seed, savers: 3, watchers: 3, isVerbose: Self.asked != nil)
            return try world.run()
        }
        #expect(problems.isEmpty, "TANDEM_SEED=\(seed)")
        for problem in problems { Issue.record("\(problem)") }
    }

    /// Runs `body` on a thread of its own, so that minutes of waiting block no other test.
    private func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        StandardStream.ignoreBrokenPipes()
        return try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try KernelThread.start(name: "soak", stackBytes: 8 << 20) {
                    continuation.resume(with: Swift.Result { try body() })
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
