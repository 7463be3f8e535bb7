import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

/// A running soak, which carries out the plan with real processes.
///
/// An instance is bound to the thread that runs it.
final class SoakWorld {
    private let plan: SoakPlan
    let traffic: SoakTraffic
    let daemon: SoakDaemon
    let recorder: SoakRecorder
    let savers: [SoakSaver]
    let watchers: [SoakWatcher]
    let isVerbose: Bool
    let kinds: Set<String>
    let files = RealFileSystem()
    private let clock = SystemClock()
    private var sizes = SoakSizes()
    /// A watcher that is stopped until its history has expired.
    struct Stop {
        let watcher: SoakWatcher
        /// The index of the watcher's current life in `lives`.
        let life: Int
        /// The journal's end at the time of the stop.
        let position: UInt64
        /// The number of recorded bytes at which the watcher's buffers are full.
        let bytes: Int
        /// The newest segment when the watcher's buffers were full.
        var segment: String?
    }
    private var stopped: Stop?
    private(set) var expiries: [Stop] = []
    var backups = 0

    var place: Place { traffic.place }

    init(_ plan: SoakPlan, seed: UInt64, savers: Int, watchers: Int, isVerbose: Bool) throws {
        self.plan = plan
        self.isVerbose = isVerbose
        let place = try Place()
        daemon = try SoakDaemon(place)
        let graph = try Self.begin(place)
        try daemon.end(SIGTERM)
        kinds = try Self.kinds(place.store)
        let beginning = try Journaled(place, segmentBytes: SoakDaemon.segmentBytes).encoded
        try daemon.begin()
        // In parallel with other tests, the soak leaves them most of the machine.
        let traffic = SoakTraffic(place, graph, seed: seed, pace: isVerbose ? 25 : 75)
        self.traffic = traffic
        recorder = SoakRecorder(beginning, traffic)
        self.savers = (0..<savers).map { SoakSaver($0, traffic) }
        self.watchers = (0..<watchers).map { SoakWatcher($0, traffic) }
    }

    private static func begin(_ place: Place) throws -> SoakGraph {
        let bridge = try BridgeProcess(place.socket, author: "beginning")
        try bridge.ask(#"{"do": "schema", "apply": \#(SoakGraph.model)}"#)
        let saved = try bridge.ask(SoakGraph.beginning.text)
        _ = try bridge.finish()
        return SoakGraph(saved["objects"])
    }

    /// Returns the names of a store's files, without their numbers.
    static func kinds(_ store: String) throws -> Set<String> {
        Set(
            try FileManager.default.subpathsOfDirectory(atPath: store).map(kind))
    }

    /// Returns a path with `#` in place of characters that may be part of a number.
    static func kind(_ path: String) -> String { String(path.map { $0.isHexDigit ? "#" : $0 }) }

    /// Carries out the plan, ends everything it started, and returns the violations of laws.
    func run() throws -> [String] {
        let threads = try start()
        let failure = Result { try disturb() }
        // A stopped client can't end.
        resume()
        if case .success = failure { waitForWork() }
        traffic.end()
        for thread in threads.clients { thread.join() }
        let settled = Result { try settle(threads.recorder) }
        try failure.get()
        try settled.get()
        for line in sizes.lines where isVerbose { say(line) }
        return traffic.problems + sizes.problems
    }

    private func start() throws -> (clients: [KernelThread], recorder: KernelThread) {
        let recorder = try KernelThread.start(name: "recorder") { [recorder] in recorder.run() }
        return (
            try savers.map { saver in
                try KernelThread.start(name: "saver", stackBytes: 4 << 20) { saver.run() }
            }
                + watchers.map { watcher in
                    try KernelThread.start(name: "watcher", stackBytes: 4 << 20) { watcher.run() }
                }, recorder
        )
    }

    // MARK: Disturbing

    private func disturb() throws {
        let begin = clock.monotonicNanoseconds
        var told: UInt64 = 0
        for step in plan.steps {
            while true {
                let now = (clock.monotonicNanoseconds - begin) / 1_000_000
                if now >= step.at { break }
                _ = traffic.ends(within: Int(min(step.at - now, 200)))
                try resumeWhenExpired()
            }
            try carryOut(step.event)
            if isVerbose, step.at >= told + 30_000 {
                told = step.at
                reportProgress(told / 1_000)
            }
            if !traffic.problems.isEmpty { return }
        }
    }

    /// Waits until every client has done enough to prove something, however long that takes on a
    /// busy machine.
    ///
    /// A client that does nothing while another one saves 2,000 times is not waited for.
    private func waitForWork() {
        while !hasDoneEnough, traffic.problems.isEmpty,
            !savers.contains(where: { $0.record.positions.count > 2_000 })
        { _ = traffic.ends(within: 200) }
    }

    private func carryOut(_ event: SoakPlan.Event) throws {
        switch event {
        case .restart(let isKilled): try daemon.restart(isKilled ? SIGKILL : SIGTERM)
        case .killSaver(let number): savers[number].target.signal(SIGKILL)
        case .killWatcher(let number): watchers[number].target.signal(SIGKILL)
        case .stop(let number): stop(watchers[number])
        case .backup: try backUp()
        case .measure: measure()
        }
    }

    private func stop(_ watcher: SoakWatcher) {
        guard stopped == nil else { return }
        watcher.target.signal(SIGSTOP)
        stopped = Stop(
            watcher: watcher, life: watcher.lives.count, position: recorder.end,
            bytes: recorder.bytes + SoakDaemon.capBytes / 2)
        traffic.isHeavy.withLock { $0 = true }
    }

    /// Resumes the stopped watcher once the journal has no segment left that it could continue
    /// from.
    private func resumeWhenExpired() throws {
        guard let stopped, recorder.bytes > stopped.bytes else { return }
        let segments = try files.list(place.store + "/journal").filter { $0.hasSuffix(".journal") }
        guard let last = stopped.segment else {
            self.stopped?.segment = segments.max()
            return
        }
        guard let oldest = segments.min(), oldest > last else { return }
        expiries.append(stopped)
        resume()
    }

    private func resume() {
        stopped?.watcher.target.signal(SIGCONT)
        stopped = nil
        traffic.isHeavy.withLock { $0 = false }
    }

    private func measure() {
        sizes.measure("daemon", daemon.processID)
        sizes.measure("saver", savers[0].target.processID)
        sizes.measure("watcher", watchers[0].target.processID)
    }

    /// Prints a line of progress without buffering, even to a file.
    func say(_ line: String) { StandardStream.output.write("soak: " + line + "\n") }

    private func reportProgress(_ seconds: UInt64) {
        say(
            "\(seconds) of \(plan.milliseconds / 1_000) s, position \(recorder.end), "
                + "\(daemon.restartCount) restarts, \(expiries.count) expired, \(backups) backups, "
                + "\(watchers.flatMap(\.lives).count) watchers ended")
    }
}
