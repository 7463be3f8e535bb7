import Foundation
import TestSupport
import Testing

@testable import TestRunner

/// The division of tests into processes, each test in exactly one.
@Suite(.ownThread) struct TestPlanTests {
    private let listing = """
        ATests.One/`a name. with (marks) and / too`()
        ATests.One/second(_:)
        ATests.OneMore/first()
        ATests.free()
        ATests.`free with / in it`(_:)
        BTests.Inner/Nested/test()
        not a test
        """

    /// Returns the ids that a group's arguments select; as in Swift Testing, suites are ids too.
    private func selected(_ group: TestGroup, _ ids: [String]) throws -> [String] {
        let expressions = try group.selection.filter { $0 != "--filter" }.map { try Regex($0) }
        let suites = Set(ids.compactMap { TestCatalog.suite(ofTest: $0) })
        let wanted = suites.filter { suite in
            suite.type != nil && expressions.contains { suite.name.contains($0) }
        }
        return ids.filter { id in
            expressions.contains { id.contains($0) }
                || wanted.contains { TestCatalog.suite(ofTest: id) == $0 }
        }
    }

    @Test(arguments: [true, false])
    func `each test is in one process`(isEachSuiteAlone: Bool) throws {
        let catalog = TestCatalog(listing: listing)
        #expect(catalog.count == 6 && catalog.suites.count == 4)
        let plan = TestPlan(catalog, durations: [:], isEachSuiteAlone: isEachSuiteAlone)
        let ids = catalog.tests.values.flatMap { $0 }
        let found = try plan.groups.flatMap { try selected($0, ids) }
        #expect(found.sorted() == ids.sorted())
        #expect(plan.groups.count == (isEachSuiteAlone ? 4 : 2))
    }

    @Test func `a filter selects its tests only`() throws {
        var catalog = TestCatalog(listing: listing)
        let ids = catalog.tests.values.flatMap { $0 }
        catalog.keep([try Regex("with")])
        let plan = TestPlan(catalog, durations: [:], filters: ["with"])
        #expect(
            try plan.groups.flatMap { try selected($0, ids) }.sorted() == [
                "ATests.One/`a name. with (marks) and / too`()", "ATests.`free with / in it`(_:)",
            ])
    }

    @Test func `long suites have a process of their own and begin first`() {
        let plan = TestPlan(
            TestCatalog(listing: listing), durations: ["BTests.Inner": 20, "ATests.OneMore": 10])
        #expect(plan.groups.map(\.name).prefix(2) == ["BTests.Inner", "ATests.OneMore"])
    }

    @Test func `suites that wait share a process that runs several tests at the same time`() {
        let listing =
            (TestPlan.waiting + ["ProcessTests.KillTests", "ProcessTests.LongTests"])
            .map { $0 + "/test()" }.joined(separator: "\n")
        let plan = TestPlan(
            TestCatalog(listing: listing), durations: ["ProcessTests.LongTests": 20])
        let waiting = plan.groups.filter { $0.width == TestPlan.waitingWidth }
        #expect(waiting.map { Set($0.suites.map(\.name)) } == [TestPlan.waiting])
        #expect(plan.groups.count == 3)
        #expect(plan.groups.allSatisfy { $0.width == 1 || waiting.contains($0) })
    }

    @Test func `durations measured under load do not make more processes`() {
        let listing = (0..<200).map { "ATests.S\($0)/test()" }.joined(separator: "\n")
        let catalog = TestCatalog(listing: listing)
        func groups(_ seconds: Double) -> Int {
            TestPlan(
                catalog,
                durations: [String: Double](
                    uniqueKeysWithValues: catalog.suites.map { ($0.name, seconds) })
            ).groups.count
        }
        #expect(groups(2.6) == 67 && groups(26) == 67)
    }

    @Test func `a target runs again if anything that it depends on has changed`() throws {
        let text = #"""
            {"targets": [
                {"name": "A", "path": "Sources/A", "dependencies": []},
                {"name": "B", "path": "Sources/B",
                    "dependencies": [{"byName": ["A", null]}, {"product": ["X", "x", null, null]}]},
                {"name": "BTests", "path": "Tests/BTests", "dependencies": [{"byName": ["B", null]}]}]}
            """#
        let manifest = try JSONDecoder().decode(PackageManifest.self, from: Data(text.utf8))
        #expect(manifest.folders(of: "BTests") == ["Sources/A", "Sources/B", "Tests/BTests"])
        var files = [
            "Sources/A/a", "Sources/B/b", "Sources/BB/b", "Tests/BTests/t", "Package.swift",
            "Package.resolved",
        ]
        .map { (path: $0, hash: "1") }
        let before = PassedTargets.digest(of: "BTests", manifest, files)
        for index in files.indices {
            files[index].hash = "2"
            let isSame = PassedTargets.digest(of: "BTests", manifest, files) == before
            #expect(isSame == (files[index].path == "Sources/BB/b"), "\(files[index].path)")
            files[index].hash = "1"
        }
        // The process tests read the whole tree.
        let whole = PassedTargets.digest(of: "ProcessTests", manifest, files)
        files[2].hash = "2"
        #expect(PassedTargets.digest(of: "ProcessTests", manifest, files) != whole)
    }

    @Test func `every kind of deep test is the first one on some day`() {
        let days = 0..<CheckKind.all.count
        let first = days.compactMap { day in
            CheckPlan(CheckKind.all, seconds: 900, day: day).entries.first?.kind.name
        }
        #expect(Set(first) == Set(CheckKind.all.map(\.name)))
    }

    @Test func `a kind may use the time that earlier kinds left, but not that of later ones`() {
        let plan = CheckPlan(CheckKind.all, seconds: 1_800, day: 0)
        let seconds = plan.entries.map(\.seconds)
        let sum = seconds.reduce(0, +)
        let last = plan.entries.count - 1
        #expect(plan.limit(ofEntryAt: 0, secondsLeft: sum) - seconds[0] < 0.001)
        #expect(plan.limit(ofEntryAt: 0, secondsLeft: sum + 60) - seconds[0] > 59)
        #expect(plan.limit(ofEntryAt: last, secondsLeft: seconds[last] + 60) == seconds[last] + 60)
        #expect(plan.limit(ofEntryAt: last, secondsLeft: 0) == seconds[last])
    }

    @Test(arguments: [0.0, 300, 900, 1_800, 7_200])
    func `deep tests keep to their time`(seconds: Double) {
        for day in 0..<20 {
            let plan = CheckPlan(CheckKind.all, seconds: seconds, day: day)
            let sum = plan.entries.reduce(0) { $0 + $1.seconds }
            #expect(plan.entries.count == 1 || sum <= seconds + 1, "day \(day)")
            #expect(plan.entries.allSatisfy { $0.seconds >= $0.kind.leastSeconds })
        }
    }
}
