import ArgumentParser
import Foundation
import TandemIO

/// The command that runs as many deep kinds of tests as fit into a time budget.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Run the deep kinds of tests within a budget of time.",
        discussion: "Kinds: \(CheckKind.all.map(\.name).joined(separator: ", "))")

    @Option(help: "Minutes that the kinds may take together, builds included.")
    var minutes: Double = 30

    @Option(help: "Kinds to run, separated by commas; default: all that fit.")
    var kinds: String?

    @Option(help: "First seed; default: the date, as in 20261124.")
    var seed: UInt64?

    @Option(help: "Number of processes at a time; default: one per core.")
    var jobs: Int = ThisProcess.cores

    func run() throws {
        let signals = try SignalSource()
        let now = Date()
        let day = Int(now.timeIntervalSince1970 / 86_400)
        let names = kinds?.split(separator: ",").map(String.init) ?? CheckKind.all.map(\.name)
        guard let chosen = CheckKind.named(names) else {
            throw ValidationError(
                "unknown kind in \(names.joined(separator: ",")); the kinds are "
                    + CheckKind.all.map(\.name).joined(separator: ", "))
        }
        let plan = CheckPlan(chosen, seconds: minutes * 60, day: kinds == nil ? day : 0)
        let left = chosen.map(\.name).filter { name in
            !plan.entries.contains { $0.kind.name == name }
        }
        Output.line("== deep tests: \(plan.entries.map(\.kind.name).joined(separator: ", "))")
        if !left.isEmpty { Output.line("== not in this run: \(left.joined(separator: ", "))") }
        let seed = seed ?? Self.seed(now)
        var report = TestReport(command: "make test")
        let began = TestProcess.now
        var lines: [String] = []
        for (index, entry) in plan.entries.enumerated() {
            let secondsLeft = minutes * 60 - (TestProcess.now - began)
            let run = CheckRun(
                entry: entry, seed: seed, jobs: jobs, signals: signals,
                limit: plan.limit(ofEntryAt: index, secondsLeft: secondsLeft))
            lines.append(try run.run(&report))
            Output.line(lines.last ?? "")
        }
        Output.line("== kinds")
        for line in lines { Output.line(line) }
        Output.line(report.summary(wallSeconds: TestProcess.now - began))
        Output.line(report.counts)
        if report.failed > 0 || lines.contains(where: { $0.contains("FAILED") }) {
            throw ExitCode(1)
        }
    }

    /// Returns the date as a number of eight digits.
    private static func seed(_ date: Date) -> UInt64 {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day], from: date)
        return UInt64((parts.year ?? 0) * 10_000 + (parts.month ?? 0) * 100 + (parts.day ?? 0))
    }
}
