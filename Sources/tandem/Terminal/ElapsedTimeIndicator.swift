import Synchronization
import TandemIO

/// Shows the elapsed time of a call that reports no progress, such as one request to the daemon.
///
///     let answer = try ElapsedTimeIndicator.shown("migrate") { try container.migrate(to: model) }
enum ElapsedTimeIndicator {
    private static let nanoseconds: UInt64 = 200_000_000

    /// Calls `body`, and shows the elapsed time after the first second.
    ///
    /// The time is shown on standard error, and only on a terminal.
    static func shown<Result>(_ label: String, _ body: () throws -> Result) rethrows -> Result {
        guard ThisProcess.isTerminal(StandardStream.error.descriptor) else { return try body() }
        let hasEnded = Ended()
        let ticker = try? KernelThread.start(name: "ticker") {
            let bar = ProgressBar(label)
            defer { bar.end() }
            while !hasEnded.flag.load(ordering: .acquiring) {
                bar.wait()
                KernelThread.sleep(nanoseconds: nanoseconds)
            }
        }
        defer {
            hasEnded.flag.store(true, ordering: .releasing)
            ticker?.join()
        }
        return try body()
    }

    private final class Ended: Sendable {
        let flag = Atomic<Bool>(false)
    }
}
