/// The totals and texts of a run, computed from the results of its groups.
struct TestReport {
    private(set) var passed = 0
    private(set) var failed = 0
    private(set) var failures: [TestFailure] = []
    private(set) var skipped: [String: String] = [:]
    private(set) var processorSeconds = 0.0
    /// The results by group, in the order in which they ended.
    private(set) var groups: [GroupResult] = []
    /// The command that repeats tests, without their names.
    let command: String
    /// The ways to repeat the failed tests, by test.
    private var repetitions: [String: Repetition] = [:]

    /// The way to repeat a failed test.
    enum Repetition {
        /// The report's command, with these variables.
        case test(variables: [String: String])
        /// A command that repeats all tests of the test's kind, because they need another build.
        case kind(command: String)
    }

    init(command: String) { self.command = command }

    /// The duration of each suite by its name, in seconds.
    var durations: [String: Double] {
        var seconds: [String: Double] = [:]
        for (suite, duration) in groups.flatMap({ $0.progress.seconds }) {
            seconds[suite.name, default: 0] += duration
        }
        return seconds
    }

    /// The last line of a report: the totals.
    var counts: String { "\(passed) passed, \(failed) failed, \(skipped.count) skipped" }

    /// Whether all tests of each target passed.
    var outcome: [String: Bool] {
        var outcome: [String: Bool] = [:]
        for result in groups {
            for suite in result.group.suites {
                outcome[suite.target, default: true] =
                    outcome[suite.target, default: true] && result.progress.failed == 0
            }
        }
        return outcome
    }

    mutating func add(
        _ result: GroupResult, repeatedBy repetition: Repetition = .test(variables: [:])
    ) {
        groups.append(result)
        for failure in result.progress.failures { repetitions[failure.test] = repetition }
        passed += result.progress.passed
        failed += result.progress.failed
        failures += result.progress.failures
        skipped.merge(result.progress.skipped) { first, _ in first }
        processorSeconds += result.times.processor
    }

    /// Returns the line of a group, with its failures below.
    static func line(_ result: GroupResult, _ number: Int, of count: Int) -> String {
        let (times, progress) = (result.times, result.progress)
        var line =
            "[\(number)/\(count)] \(progress.failed == 0 ? "ok    " : "FAILED") "
            + "\(seconds(times.wall)) wall \(seconds(times.processor)) cpu  \(result.group.name): "
            + "\(progress.passed) passed"
        if progress.failed > 0 { line += ", \(progress.failed) failed" }
        if !progress.skipped.isEmpty { line += ", \(progress.skipped.count) skipped" }
        for failure in progress.failures { line += "\n" + text(failure) }
        if progress.failed > 0 { line += "\n    all output: \(result.output)" }
        return line
    }

    /// Returns the reasons of skipped tests, and the failures with the commands that repeat them.
    func summary(wallSeconds: Double) -> String {
        var lines: [String] = []
        let reasons = Dictionary(grouping: skipped.keys) { skipped[$0] ?? "" }
        for reason in reasons.keys.sorted() {
            lines.append("skipped \(reasons[reason]?.count ?? 0): \(reason)")
        }
        if !failures.isEmpty {
            lines.append("== what failed, and the command that repeats only it")
        }
        for test in failures.map(\.test).uniqued() {
            let own = failures.filter { $0.test == test }
            lines += own.prefix(1).map(Self.text)
            if own.count > 1 { lines.append("    … and \(own.count - 1) more issues of this test") }
            lines.append("    " + repeating(test, seed: own.compactMap(\.seed).first))
        }
        lines.append(
            "== \(groups.count) processes, \(Self.seconds(wallSeconds)) wall, "
                + "\(Self.seconds(processorSeconds)) of processor time")
        return lines.joined(separator: "\n")
    }

    /// Returns the command that repeats one test, with its seed if there is one.
    func repeating(_ test: String, seed: String?) -> String {
        var variables: [String: String] = [:]
        switch repetitions[test] {
        case .kind(let command): return command
        case .test(let others): variables = others
        case nil: break
        }
        if let seed { variables["TANDEM_SEED"] = seed }
        let settings = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value) " }
        // Drop the file and the line at the end of the id.
        let names = test.split(separator: "/")
        let id =
            names.last?.contains(".swift:") == true
            ? names.dropLast().joined(separator: "/") : test
        let expression = "^" + TestPlan.escaped(id)
        return settings.joined() + command
            + " TEST='" + expression.replacing("'", with: "'\\''") + "'"
    }

    /// The maximum number of characters printed of a message; the process's output contains the
    /// whole message.
    static let messageLength = 1_200

    private static func text(_ failure: TestFailure) -> String {
        let isLong = failure.message.count > messageLength
        let message = failure.message.prefix(messageLength) + (isLong ? " …" : "")
        return "  ✘ \(failure.test)\n    \(failure.location): "
            + message.replacing("\n", with: "\n    ")
    }

    /// Formats seconds with one decimal, in a fixed width.
    static func seconds(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        let text = "\(tenths / 10).\(tenths % 10) s"
        return String(repeating: " ", count: max(0, 8 - text.count)) + text
    }
}

extension Sequence where Element: Hashable {
    /// The elements without repetitions, in the order of their first occurrence.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
