import Foundation
import TandemIO

/// A run of one kind of deep tests: its build, then rounds until its time is over.
struct CheckRun {
    let entry: CheckPlan.Entry
    let seed: UInt64
    let jobs: Int
    let signals: SignalSource

    /// Runs the kind, adds its results to `report`, and returns its line.
    func run(_ report: inout TestReport) throws -> String {
        let (kind, began) = (entry.kind, TestProcess.now)
        Output.line("== \(kind.name), \(Int(entry.seconds)) s")
        guard let bundle = try build(kind.build) else { return line("FAILED to build", began, 0) }
        var (rounds, failed, passed) = (0, 0, 0)
        repeat {
            let start = TestProcess.now
            let seed = seed + UInt64(rounds * 1_000)
            let variables = kind.variables(seed, entry.seconds - (start - began))
            let own = try round(bundle, variables)
            for result in own { report.add(result) }
            passed += own.reduce(0) { $0 + $1.progress.passed }
            failed += own.reduce(0) { $0 + $1.progress.failed }
            rounds += 1
            let took = TestProcess.now - start
            if TestProcess.now - began + took > entry.seconds { break }
        } while kind.isRepeatable && failed == 0
        let figure =
            kind.figure.map { "\($0.count * rounds) \($0.unit), \(passed) tests" }
            ?? "\(passed) tests"
        let outcome = failed == 0 ? "ok     \(figure)" : "FAILED \(failed) of \(figure)"
        return line(outcome, began, rounds)
    }

    private func line(_ outcome: String, _ began: Double, _ rounds: Int) -> String {
        let minutes = Int((entry.seconds / 60).rounded(.up))
        let name = entry.kind.name.padding(toLength: 11, withPad: " ", startingAt: 0)
        return "\(name) \(outcome) in \(Int(TestProcess.now - began)) s, seed \(seed), "
            + "\(rounds) rounds; repeat: make check KINDS=\(entry.kind.name) SEED=\(seed) "
            + "MINUTES=\(minutes)"
    }

    private func round(_ bundle: String, _ variables: [String: String]) throws -> [GroupResult] {
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
        let run = TestRun(settings, jobs: jobs, folder: folder, signals: signals)
        var results: [GroupResult] = []
        try run.run(plan.groups) { result in
            results.append(result)
            guard result.progress.failed > 0 else { return }
            Output.line(TestReport.line(result, results.count, of: plan.groups.count))
            let shown = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            Output.line("    under \(shown.joined(separator: " "))")
        }
        if results.allSatisfy({ $0.progress.failed == 0 }) {
            try? FileManager.default.removeItem(atPath: folder)
        }
        return results
    }

    /// Builds the tests; returns the path of the bundle, or nil if they do not build.
    private func build(_ build: CheckKind.Build) throws -> String? {
        let words = ["swift", "build", "--build-tests"] + build.arguments
        guard try ChildProcess.start("/usr/bin/env", words).wait() == .exited(0) else { return nil }
        let child = try ChildProcess.start(
            "/usr/bin/env", ["swift", "build", "--show-bin-path"] + build.arguments, output: .pipe)
        let path = String(decoding: try child.readAll(), as: UTF8.self)
        return path.split(separator: "\n").last.map { "\($0)/tandemPackageTests.xctest" }
    }
}
