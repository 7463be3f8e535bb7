import ArgumentParser
import Foundation
import TandemIO

/// The command that runs all tests of a bundle, or those that match a filter.
struct TestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Run the tests of a bundle.")

    @Option(help: "Path of the test bundle; default: the one beside this program.")
    var bundle: String?

    @Option(help: "Number of processes at a time; default: one per core.")
    var jobs: Int = ThisProcess.cores

    @Option(help: "Run only tests whose ids match this regular expression; may be repeated.")
    var filter: [String] = []

    @Option(help: "Table of expected durations; only read.")
    var durations: String?

    @Option(help: "Table of expected durations; read, and written after the run.")
    var measured: String?

    @Option(help: "Table of targets that passed; targets whose files did not change are left out.")
    var passed: String?

    @Flag(help: "Also run targets that passed before.")
    var all = false

    @Option(help: "Page with the table of faults; faults with a skipped test are listed.")
    var faults: String?

    @Flag(help: "Fail when a fault of the table has a skipped test.")
    var everyFault = false

    @Flag(help: "Start a process for each suite, also for short ones.")
    var eachSuite = false

    @Option(help: "Seconds without processor or disk use after which a test is ended.")
    var idleLimit: Double = ProgressWatch.Limits().idleSeconds

    @Option(help: "Seconds of processor time after which a test is ended.")
    var processorLimit: Double = ProgressWatch.Limits().processorSeconds

    func run() throws {
        // Before any thread starts, so that no thread receives the signals.
        let signals = try SignalSource()
        let bundle = bundle ?? ThisProcess.sibling("tandemPackageTests.xctest")
        var catalog = try TestCatalog(bundle: bundle)
        try catalog.keep(filter.map { try Regex($0) })
        guard catalog.count > 0 else {
            Output.line("no test matches \(filter.joined(separator: " or "))")
            throw ExitCode(2)
        }
        var cache = try passedTargets(catalog)
        let unchanged = all ? [] : cache?.unchanged ?? []
        let left = catalog.remove(targets: unchanged)
        let known = Durations.read([durations, measured].compactMap { $0 })
        let plan = TestPlan(
            catalog, durations: known, filters: filter, isEachSuiteAlone: eachSuite)
        let folder = try Output.temporaryFolder()
        let report = try run(plan, bundle, folder, signals, of: catalog.count)
        try cache?.record(report.outcome)
        if left > 0 {
            Output.line(
                "== \(left) tests of \(unchanged.sorted().joined(separator: ", ")) did not run: "
                    + "they passed, and nothing that they depend on has changed; "
                    + "`make test ALL=1` runs them")
        }
        let untested = try untestedFaults(report)
        Output.line(report.counts)
        if let measured {
            try Durations.write(known.merging(report.durations) { $1 }, to: measured)
        }
        // The logs of a failed run are kept.
        if report.failed > 0 || everyFault && untested > 0 { throw ExitCode(1) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Prints the faults whose tests were skipped, and returns their number.
    private func untestedFaults(_ report: TestReport) throws -> Int {
        guard let faults else { return 0 }
        let table = FaultTable(page: try String(contentsOfFile: faults, encoding: .utf8))
        let untested = table.untested(skipped: report.skipped)
        for line in untested { Output.line("fault not tested here: \(line)") }
        return untested.count
    }

    /// Returns the record of passed targets.
    ///
    /// Returns nil if only some tests run, or if environment variables change the tests.
    private func passedTargets(_ catalog: TestCatalog) throws -> PassedTargets? {
        let volumes =
            ["SEED", "WORLDS", "IMAGES", "RACES", "SOAK", "FUZZ", "SPILL", "GOLDEN"]
            + ["EXHAUSTIVE", "DEEP", "FIRST_WORLD"]
        let isVaried = volumes.contains { ThisProcess.environment("TANDEM_\($0)") != nil }
        guard let passed, filter.isEmpty, !isVaried else { return nil }
        return try PassedTargets(path: passed, targets: Set(catalog.suites.map(\.target)))
    }

    private func run(
        _ plan: TestPlan, _ bundle: String, _ folder: String, _ signals: SignalSource, of tests: Int
    ) throws -> TestReport {
        var settings = TestProcess.Settings(bundle: bundle)
        settings.limits.idleSeconds = idleLimit
        settings.limits.processorSeconds = processorLimit
        let run = TestRun(settings, jobs: jobs, folder: folder, signals: signals)
        var report = TestReport(command: "make test")
        let began = TestProcess.now
        Output.line("== \(tests) tests in \(plan.groups.count) processes, \(jobs) at a time")
        do {
            try run.run(plan.groups) { result in
                report.add(result)
                Output.line(TestReport.line(result, report.groups.count, of: plan.groups.count))
            }
        } catch is TestRun.Interrupted {
            Output.line(
                "interrupted; \(report.groups.count) of \(plan.groups.count) processes had ended")
            Output.line(report.summary(wallSeconds: TestProcess.now - began))
            Output.line(report.counts)
            throw ExitCode(130)
        }
        Output.line(report.summary(wallSeconds: TestProcess.now - began))
        return report
    }
}
