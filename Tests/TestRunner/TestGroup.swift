/// The suites that run in one process.
struct TestGroup: Equatable {
    let name: String
    let suites: [TestSuite]
    let testCount: Int
    /// The expected duration in seconds.
    let expected: Double
    /// The arguments that select the tests of the group.
    let selection: [String]
    /// The number of tests that run at the same time.
    var width = 1
}

/// The division of a catalog into groups, longest first.
///
/// A long suite has a process of its own. Short suites of the same target share a process, because
/// starting a process costs a tenth of a second.
struct TestPlan {
    /// The minimum expected duration of a suite that has a process of its own, in seconds.
    static let ownProcess = 8.0
    /// The approximate maximum number of groups.
    private static let mostGroups = 65.0
    /// Suites whose tests mostly wait for timeouts of other processes.
    ///
    /// The waiting suites of a target share a process, in which several tests run at the same time.
    static let waiting: Set<String> = [
        "ProcessTests.BridgeWireTests", "ProcessTests.DiskFullTests",
        "ProcessTests.HungDaemonTests", "ProcessTests.LogAbsenceTests",
    ]
    /// The number of tests of waiting suites that run at the same time.
    static let waitingWidth = 8
    /// The assumed duration of a test of unknown duration, in seconds.
    static let unknownTest = 0.05

    let groups: [TestGroup]

    /// Divides `catalog`; `filters` are passed on if only some tests of each suite were selected.
    init(
        _ catalog: TestCatalog, durations: [String: Double], filters: [String] = [],
        isEachSuiteAlone: Bool = false
    ) {
        var groups: [TestGroup] = []
        // Durations that were measured under load do not divide the suites further.
        let total = catalog.suites.reduce(0) { $0 + (durations[$1.name] ?? 0) }
        let ownProcess = max(Self.ownProcess, total / Self.mostGroups)
        let byTarget = Dictionary(grouping: catalog.suites, by: \.target)
        for target in byTarget.keys.sorted() {
            let named = (byTarget[target] ?? []).compactMap(\.type)
            var open: [TestSuite] = []
            func seconds(_ suite: TestSuite) -> Double {
                durations[suite.name]
                    ?? Double(catalog.tests[suite]?.count ?? 0) * Self.unknownTest
            }
            func close() {
                guard let first = open.first else { return }
                let tests = open.reduce(0) { $0 + (catalog.tests[$1]?.count ?? 0) }
                groups.append(
                    TestGroup(
                        name: open.count == 1
                            ? first.name : "\(first.name) and \(open.count - 1) more",
                        suites: open, testCount: tests,
                        expected: open.reduce(0) { $0 + seconds($1) },
                        selection: Self.selection(open, named, filters, catalog),
                        width: Self.waiting.contains(first.name) ? Self.waitingWidth : 1))
                open = []
            }
            let sorted = (byTarget[target] ?? []).sorted()
            for suite in sorted where !Self.waiting.contains(suite.name) {
                let total = open.reduce(seconds(suite)) { $0 + seconds($1) }
                if isEachSuiteAlone || total > ownProcess { close() }
                open.append(suite)
            }
            close()
            for suite in sorted where Self.waiting.contains(suite.name) {
                if isEachSuiteAlone { close() }
                open.append(suite)
            }
            close()
        }
        self.groups = groups.sorted { ($1.expected, $0.name) < ($0.expected, $1.name) }
    }

    private static func selection(
        _ suites: [TestSuite], _ named: [String], _ filters: [String], _ catalog: TestCatalog
    ) -> [String] {
        if !filters.isEmpty {
            return suites.flatMap { catalog.tests[$0] ?? [] }.flatMap {
                ["--filter", "^" + escaped($0) + "(/|$)"]
            }
        }
        return suites.flatMap { suite in
            guard let type = suite.type else {
                let others = named.isEmpty ? "" : "(?!(?:\(named.joined(separator: "|")))(?:/|$))"
                return ["--filter", "^\(suite.target)\\.\(others)"]
            }
            return ["--filter", "^\(suite.target)\\.\(type)/"]
        }
    }

    /// Returns a regular expression that matches exactly this text.
    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            let isPlain =
                character.isLetter || character.isNumber || "_ ,:'`-\"".contains(character)
            result += isPlain ? "\(character)" : "\\\(character)"
        }
    }
}
