/// The rule that tests which may block declare where they run, so that none blocks a cooperative
/// thread.
enum IsolationRules {
    /// The test targets that start threads, processes and daemons, or wait for the disk.
    static let targets: Set<String> = [
        "TandemIOTests", "TandemJournalTests", "TandemStoreTests", "TandemDaemonTests",
        "TandemTests", "ProcessTests", "FaultTests", "SimulationTests", "OracleTests", "FuzzTests",
        "TestRunnerTests", "TandemServiceTests",
    ]

    /// Returns the suites of these targets without the main actor or `.ownThread`, functions
    /// without a suite, and detached tasks without an executor.
    static func unisolated(_ file: SourceFile) -> [Finding] {
        let parts = file.path.split(separator: "/")
        guard parts.count > 2, parts[0] == "Tests", targets.contains(String(parts[1])) else {
            return []
        }
        let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
        let detaches = file.mentions("Task.detached {")
        var findings: [Finding] = []
        for (index, line) in lines.enumerated() {
            // Attributes may begin on lines of their own before the type.
            let isTest = line.hasPrefix("@Test") || line.hasPrefix("@MainActor @Test")
            let isSuite = line.hasPrefix("@Suite") || line.hasPrefix("@MainActor @Suite")
            let before = index > 0 ? lines[index - 1] : ""
            if detaches && line.contains("Task.detached {") {
                findings.append(
                    Finding(
                        path: file.path, line: index + 1,
                        message: "may block a cooperative thread: add executorPreference"))
            }
            if (isTest || isSuite) && !isIsolated(lines[index...], before) {
                findings.append(
                    Finding(
                        path: file.path, line: index + 1,
                        message: "blocks cooperative threads: add .ownThread or @MainActor"))
            }
            let isBareType =
                ["struct ", "final class "].contains { line.hasPrefix($0) }
                && line.contains("Tests {") && !before.contains("@Suite")
                && !before.hasSuffix(")") && !before.hasSuffix("@MainActor")
            if isBareType {
                findings.append(
                    Finding(
                        path: file.path, line: index + 1,
                        message: "is a suite without attributes: add @Suite(.ownThread)"))
            }
        }
        return findings
    }

    /// Returns whether the attributes that begin with these lines name the main actor or
    /// `.ownThread`.
    private static func isIsolated(_ lines: ArraySlice<Substring>, _ before: Substring) -> Bool {
        let attributes = lines.prefix(5).joined(separator: " ").prefix { $0 != "{" }
        return attributes.contains("@MainActor") || before.hasPrefix("@MainActor")
            || attributes.contains(".ownThread")
    }
}
