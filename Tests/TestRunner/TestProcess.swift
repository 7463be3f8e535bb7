import Foundation
import Glibc
import TandemIO

/// One process that runs a group of tests, in a session and a temporary folder of its own.
final class TestProcess {
    let group: TestGroup
    /// The folder for the output, the events and the temporary files.
    let folder: String
    private(set) var progress = TestProgress()
    private(set) var times = Times(wall: 0, processor: 0)
    private let child: ChildProcess
    private let session: ProcessSession
    private let began: Double
    private let sampleSeconds: Double
    private var watch: ProgressWatch
    private var lastSample: Double
    private var events: FileHandle?
    private var verdict: ProgressWatch.Verdict?
    /// The kernel functions in which the processes of a stalled test waited.
    private var waited = ""

    /// The path of a test bundle, and the environment and limits of its processes.
    struct Settings {
        var bundle: String
        var environment: [String: String] = [:]
        var limits = ProgressWatch.Limits()
    }

    /// The wall-clock time in seconds, and the processor time used since the start.
    struct Times: Equatable {
        var wall: Double
        var processor: Double
    }

    init(_ group: TestGroup, _ settings: Settings, folder: String) throws {
        self.group = group
        self.folder = folder
        try FileManager.default.createDirectory(
            atPath: folder + "/tmp", withIntermediateDirectories: true)
        // Some tests run as other users, which must be able to traverse these folders.
        for path in [folder, folder + "/tmp"] { chmod(path, 0o711) }
        try Data().write(to: URL(filePath: folder + "/events"))
        // With random hashing a seed would not reproduce failures that depend on the order of sets
        // and dictionaries.
        var words = [
            "env", "TMPDIR=\(folder)/tmp", "SWIFT_DETERMINISTIC_HASHING=1", "TANDEM_VERIFY=1",
        ]
        words += settings.environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        words += [settings.bundle, "--testing-library", "swift-testing"]
        words +=
            group.width == 1
            ? ["--no-parallel"]
            : ["--experimental-maximum-parallelization-width", "\(group.width)"]
        words += ["--event-stream-version", "0", "--event-stream-output-path", folder + "/events"]
        child = try ChildProcess.start(
            "/bin/sh",
            ["-c", "exec setsid \"$@\" >'\(folder)/output' 2>&1", "sh"] + words + group.selection)
        session = ProcessSession(id: child.processID)
        began = Self.now
        lastSample = began
        sampleSeconds = settings.limits.sampleSeconds
        watch = ProgressWatch(
            settings.limits,
            start: .init(time: began, eventCount: 0, processorSeconds: 0, isWaitingForDisk: false))
    }

    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Reads new events and applies the limits; returns whether the process has ended.
    func poll() throws -> Bool {
        let now = Self.now
        if session.hasEnded {
            // The kernel discards the processor time once the process has been waited for.
            times = Times(wall: now - began, processor: session.processorSeconds)
            try readEvents()
            conclude(child.wait())
            return true
        }
        if now - lastSample >= sampleSeconds {
            lastSample = now
            try readEvents()
            observe(now)
        }
        return false
    }

    /// Kills the process and all processes that it started.
    func kill() {
        session.kill()
        child.kill()
        child.wait()
    }

    private func observe(_ now: Double) {
        let used = session.processorSeconds
        let sample = ProgressWatch.Sample(
            time: now, eventCount: progress.eventCount, processorSeconds: used,
            isWaitingForDisk: session.isWaitingForDisk)
        guard verdict == nil, let verdict = watch.observe(sample) else { return }
        self.verdict = verdict
        waited = session.description
        session.kill()
    }

    private func readEvents() throws {
        let file = try events ?? FileHandle(forReadingFrom: URL(filePath: folder + "/events"))
        events = file
        try progress.read(Array(try file.readToEnd() ?? Data()))
    }

    private func conclude(_ status: ChildProcess.Status) {
        let reason =
            switch (verdict, status) {
            case (.stalled(let seconds)?, _):
                """
                no progress for \(Int(seconds)) s: its processes used neither processor nor disk. \
                They waited in: \(waited)
                """
            case (.runaway(let seconds)?, _):
                "still running after \(Int(seconds)) s of processor time"
            case (nil, .signalled(let signal)):
                "the test process ended by signal \(signal) (\(String(cString: strsignal(signal))))"
            case (nil, .exited(let code)): "the test process ended with exit code \(code)"
            }
        progress.end(reason)
        let ended = progress.passed + progress.failed + progress.skipped.count
        if status != .exited(0), progress.failed == 0 {
            progress.fail(group.name, reason)
        } else if ended < group.testCount {
            progress.fail(group.name, "only \(ended) of \(group.testCount) tests ran")
        }
        let output = (try? String(contentsOfFile: folder + "/output", encoding: .utf8)) ?? ""
        progress.addSeed(printedIn: output)
        // Processes that a test left running are killed with it.
        session.kill()
    }
}
