import Foundation
import TandemIO

/// The result of one group.
struct GroupResult {
    let group: TestGroup
    let progress: TestProgress
    let times: TestProcess.Times
    /// The path of the file with the output of the process.
    let output: String
}

/// Runs groups of tests in the given order, several processes at the same time.
final class TestRun {
    private let settings: TestProcess.Settings
    private let jobs: Int
    private let folder: String
    private var running: [TestProcess] = []
    private let signals: SignalSource
    private let deadline: Double

    /// An error thrown when a signal has asked the run to stop.
    struct Interrupted: Error {}

    /// Creates a run whose processes have folders below `folder`.
    ///
    /// The run is ended at `deadline`, in seconds of the monotonic clock.
    init(
        _ settings: TestProcess.Settings, jobs: Int, folder: String, signals: SignalSource,
        deadline: Double = .infinity
    ) {
        self.settings = settings
        self.jobs = max(1, jobs)
        self.folder = folder
        self.signals = signals
        self.deadline = deadline
    }

    /// Runs the groups, and passes each result to `report` when its process has ended.
    ///
    /// Returns false if the deadline passed first, and throws `Interrupted` after SIGINT, SIGTERM
    /// or SIGHUP; in both cases no process is left running.
    @discardableResult
    func run(_ groups: [TestGroup], report: (GroupResult) throws -> Void) throws -> Bool {
        defer { for process in running { process.kill() } }
        var waiting = groups.enumerated().reversed().map { $0 }
        while !waiting.isEmpty || !running.isEmpty {
            if signals.next() != nil { throw Interrupted() }
            if TestProcess.now >= deadline { return false }
            while running.count < jobs, let (index, group) = waiting.popLast() {
                running.append(try TestProcess(group, settings, folder: "\(folder)/\(index)"))
            }
            for process in running where try process.poll() {
                running.removeAll { $0 === process }
                try? FileManager.default.removeItem(atPath: process.folder + "/tmp")
                try report(
                    GroupResult(
                        group: process.group, progress: process.progress, times: process.times,
                        output: process.folder + "/output"))
            }
            KernelThread.sleep(nanoseconds: 20_000_000)
        }
        return true
    }
}
