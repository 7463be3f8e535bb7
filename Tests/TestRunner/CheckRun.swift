import Foundation
import TandemIO

/// A run of one kind of deep tests: its build, then rounds until its time is over.
struct CheckRun {
    let entry: CheckPlan.Entry
    let seed: UInt64
    let jobs: Int
    let signals: SignalSource
    /// The seconds after which the run is ended.
    let limit: Double
    private let began = TestProcess.now

    init(
        entry: CheckPlan.Entry, seed: UInt64, jobs: Int, signals: SignalSource, limit: Double
    ) {
        self.entry = entry
        self.seed = seed
        self.jobs = jobs
        self.signals = signals
        self.limit = limit
    }

    /// Runs the kind, adds its results to `report`, and returns its line.
    func run(_ report: inout TestReport) throws -> String {
        let kind = entry.kind
        Output.line("== \(kind.name), \(Int(entry.seconds)) s, at most \(Int(limit)) s")
        let build = try build(kind.build)
        guard let bundle = build.bundle else {
            return build.isEnded ? ended(after: "its build", 0) : line("FAILED to build", 0)
        }
        var (rounds, failed, passed, isComplete) = (0, 0, 0, true)
        repeat {
            let start = TestProcess.now
            let variables = kind.variables(
                seed + UInt64(rounds * 1_000), entry.seconds - (start - began))
            isComplete = try round(bundle, variables) { result in
                report.add(
                    result,
                    repeatedBy: kind.build == .debug
                        ? .test(variables: variables) : .kind(command: command(entry.seconds)))
                passed += result.progress.passed
                failed += result.progress.failed
            }
            if isComplete { rounds += 1 }
            let took = TestProcess.now - start
            if TestProcess.now - began + took > entry.seconds { break }
        } while kind.isRepeatable && failed == 0 && isComplete
        let figure =
            kind.figure.map { "\($0.count * rounds) \($0.unit), \(passed) tests" }
            ?? "\(passed) tests"
        if failed > 0 { return line("FAILED \(failed) of \(figure)", rounds) }
        return rounds > 0 ? line("ok     \(figure)", rounds) : ended(after: figure, rounds)
    }

    /// Returns the line of a run that its limit ended, with a command for twice the time.
    private func ended(after progress: String, _ rounds: Int) -> String {
        line(
            "ENDED  by its limit of \(Int(limit)) s after \(progress)", rounds,
            repeatedFor: limit * 2)
    }

    private func line(
        _ outcome: String, _ rounds: Int, repeatedFor seconds: Double? = nil
    ) -> String {
        let name = entry.kind.name.padding(toLength: 11, withPad: " ", startingAt: 0)
        return "\(name) \(outcome) in \(Int(TestProcess.now - began)) s, seed \(seed), "
            + "\(rounds) rounds; repeat: \(command(seconds ?? entry.seconds))"
    }

    /// Returns the command that repeats the kind for some time.
    private func command(_ seconds: Double) -> String {
        "make check KINDS=\(entry.kind.name) SEED=\(seed) "
            + "MINUTES=\(Int((seconds / 60).rounded(.up)))"
    }

    /// Runs all tests of the kind once; returns false if the limit ended the run.
    private func round(
        _ bundle: String, _ variables: [String: String], report: (GroupResult) -> Void
    ) throws -> Bool {
        var catalog = try TestCatalog(bundle: bundle)
        try catalog.keep(entry.kind.tests.map { try Regex($0) })
        let plan = TestPlan(
            catalog, durations: Durations.read(["Tests/suite-durations.tsv"]),
            filters: entry.kind.tests)
        var settings = TestProcess.Settings(bundle: bundle)
        settings.environment = variables
        // A single test may do the work of the whole kind.
        settings.limits.processorSeconds = max(1_200, entry.seconds * 4)
        settings.limits.idleSeconds = 120
        let folder = try Output.temporaryFolder()
        let run = TestRun(
            settings, jobs: jobs, folder: folder, signals: signals, deadline: began + limit)
        var (count, hasFailed) = (0, false)
        let isComplete = try run.run(plan.groups) { result in
            report(result)
            count += 1
            guard result.progress.failed > 0 else { return }
            hasFailed = true
            Output.line(TestReport.line(result, count, of: plan.groups.count))
            let shown = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            Output.line("    under \(shown.joined(separator: " "))")
        }
        if !hasFailed { try? FileManager.default.removeItem(atPath: folder) }
        return isComplete
    }

    /// Builds the tests; the bundle's path is nil if they do not build, or if the limit ended the
    /// build.
    private func build(
        _ build: CheckKind.Build
    ) throws -> (bundle: String?, isEnded: Bool) {
        // The build has a session of its own, so that its compilers end with it.
        let child = try ChildProcess.start(
            "/usr/bin/env", ["setsid", "swift", "build", "--build-tests"] + build.arguments)
        let session = ProcessSession(id: child.processID)
        while !session.hasEnded {
            let isStopped = signals.next() != nil
            guard isStopped || TestProcess.now >= began + limit else {
                KernelThread.sleep(nanoseconds: 20_000_000)
                continue
            }
            session.kill()
            child.wait()
            if isStopped { throw TestRun.Interrupted() }
            return (nil, true)
        }
        guard child.wait() == .exited(0) else { return (nil, false) }
        let shown = try ChildProcess.start(
            "/usr/bin/env", ["swift", "build", "--show-bin-path"] + build.arguments, output: .pipe)
        let path = String(decoding: try shown.readAll(), as: UTF8.self)
        return (path.split(separator: "\n").last.map { "\($0)/\(build.bundle)" }, false)
    }
}
