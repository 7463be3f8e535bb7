import Foundation
import TandemIO
import TestSupport
import Testing

@testable import TestRunner

/// Whole runs over bundles that are shell scripts and write events in the format of Swift Testing.
@Suite(.ownThread, .serialized) struct TestRunTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private static func test(_ name: String, _ kind: String = "function") -> String {
        #"{"kind":"test","payload":{"id":"\#(name)","kind":"\#(kind)"}}"#
    }

    private static func event(_ kind: String, _ test: String, _ time: Double) -> String {
        #"{"kind":"event","payload":{"kind":"\#(kind)","testID":"\#(test)","#
            + #""instant":{"absolute":\#(time)},"messages":[{"symbol":"fail","text":"told"}]}}"#
    }

    private static func issue(_ test: String, _ text: String) -> String {
        #"{"kind":"event","payload":{"kind":"issueRecorded","testID":"\#(test)","issue":"#
            + #"{"isKnown":false,"sourceLocation":{"fileID":"A/T.swift","line":7}},"#
            + #""messages":[{"symbol":"fail","text":"\#(text)"}]}}"#
    }

    /// Runs a group whose bundle writes these events and then runs a shell command.
    private func run(
        _ events: [String], then command: String = "exit 0", idleSeconds: Double = 30,
        testCount: Int? = nil
    ) throws -> GroupResult {
        let (run, group) = try prepare(
            events, then: command, idleSeconds: idleSeconds, testCount: testCount)
        var results: [GroupResult] = []
        #expect(try run.run([group]) { results.append($0) })
        return try #require(results.first)
    }

    /// Returns a run and a group whose bundle writes these events and then runs a shell command.
    private func prepare(
        _ events: [String], then command: String, idleSeconds: Double = 30, testCount: Int? = nil,
        deadline: Double = .infinity
    ) throws -> (TestRun, TestGroup) {
        let script = scratch.path + "/bundle"
        let text = """
            #!/bin/sh
            while [ $# -gt 0 ]; do
                [ "$1" = --event-stream-output-path ] && file=$2
                shift
            done
            cat >"$file" <<'END'
            \(events.joined(separator: "\n"))
            END
            \(command)
            """
        try text.write(toFile: script, atomically: true, encoding: .utf8)
        chmod(script, 0o755)
        var settings = TestProcess.Settings(bundle: script)
        settings.limits.idleSeconds = idleSeconds
        settings.limits.sampleSeconds = 0.1
        let tests = testCount ?? events.count { $0.contains(#""kind":"function""#) }
        let group = TestGroup(
            name: "A", suites: [], testCount: tests, expected: 1, selection: [])
        let run = TestRun(
            settings, jobs: 2, folder: try Scratch(in: scratch.path).directory(UUID().uuidString),
            signals: try SignalSource(), deadline: deadline)
        return (run, group)
    }

    /// Returns whether the process whose id is in a file is running.
    private func isRunning(_ path: String) throws -> Bool {
        let id = try String(contentsOfFile: path, encoding: .utf8).prefix { $0.isNumber }
        let state = ProcessSession.Stat("/proc/\(id)/stat")?.state
        return state != nil && state != "Z"
    }

    @Test func `tests that pass, fail and are skipped are counted`() throws {
        let names = ["A.S/one()", "A.S/two()", "A.T/three()", "A.S/four()"]
        let result = try run(
            [Self.test("A.S", "suite"), Self.test("A.T", "suite")] + names.map { Self.test($0) }
                + [
                    Self.event("testStarted", names[0], 1), Self.event("testEnded", names[0], 3),
                    Self.event("testStarted", names[1], 3),
                    Self.issue(names[1], "wrong, TANDEM_SEED=77 round 3"),
                    Self.event("testEnded", names[1], 4), Self.event("testSkipped", "A.T", 4),
                    Self.event("testSkipped", names[3], 4),
                ], then: "exit 1")
        let progress = result.progress
        #expect(progress.passed == 1 && progress.failed == 1 && progress.skipped.count == 2)
        #expect(progress.failures.map(\.seed) == ["77"])
        #expect(progress.failures.first?.location == "A/T.swift:7")
        #expect(progress.seconds.values.reduce(0, +) == 3)
        var report = TestReport(command: "make test")
        report.add(result)
        let summary = report.summary(wallSeconds: 4)
        #expect(report.counts == "1 passed, 1 failed, 2 skipped")
        #expect(summary.contains("    TANDEM_SEED=77 make test TEST='^A\\.S\\/two\\(\\)'"))
        report = TestReport(command: "make test")
        report.add(result, repeatedBy: .test(variables: ["TANDEM_SEED": "1", "TANDEM_DEEP": "1"]))
        let deep = report.summary(wallSeconds: 4)
        #expect(deep.contains("    TANDEM_DEEP=1 TANDEM_SEED=77 make test TEST="))
        report = TestReport(command: "make test")
        report.add(result, repeatedBy: .kind(command: "make check KINDS=release"))
        #expect(report.summary(wallSeconds: 4).contains("\n    make check KINDS=release\n"))
    }

    @Test func `a fault whose test is skipped is listed`() {
        let table = FaultTable(
            page: """
                | fault | behaviour | test |
                |---|---|---|
                | a kill | nothing is lost | it holds; itBends |
                | a flood | nothing is wet | it holds too |
                """)
        #expect(table.rows.map(\.tests) == [["it holds", "itBends"], ["it holds too"]])
        let skipped = [
            "A.S/itBends()/S.swift:3:6": "no cgroup", "A.S/`it holds too well`()": "no root",
        ]
        #expect(table.untested(skipped: skipped) == ["a kill: no cgroup"])
        #expect(table.untested(skipped: ["A.S/`it holds`()": "no tool"]) == ["a kill: no tool"])
    }

    @Test func `a process that dies fails its running test and the tests that did not run`() throws
    {
        let result = try run(
            [
                Self.test("A.S/one()"), Self.test("A.S/two()"),
                Self.event("testStarted", "A.S/one()", 1),
            ], then: "kill -SEGV $$")
        #expect(result.progress.failed == 2 && result.progress.passed == 0)
        let messages = result.progress.failures.map(\.message)
        #expect(messages.contains { $0.hasPrefix("the test process ended by signal 11") })
        #expect(messages.contains { $0.hasPrefix("did not run: ") })
    }

    @Test func `a process that dies after its tests, or runs too few, is a failure`() throws {
        let events = [
            Self.test("A.S/one()"), Self.event("testStarted", "A.S/one()", 1),
            Self.event("testEnded", "A.S/one()", 2),
        ]
        let dead = try run(events, then: "kill -SEGV $$").progress
        #expect(dead.passed == 1 && dead.failed == 1)
        #expect(dead.failures.first?.message.contains("signal 11") == true)
        let few = try run(events, testCount: 2).progress
        #expect(few.failures.map(\.message) == ["only 1 of 2 tests ran"])
        #expect(try run(events).progress.failed == 0)
    }

    @Test func `a failure without a seed gets the one that its process printed`() throws {
        let result = try run(
            [
                Self.test("A.S/one()"), Self.event("testStarted", "A.S/one()", 1),
                Self.issue("A.S/one()", "wrong"), Self.event("testEnded", "A.S/one()", 2),
            ], then: "echo TANDEM_SEED=5; echo TANDEM_SEED=6 and more; exit 1")
        #expect(result.progress.failures.map(\.seed) == ["6"])
    }

    @Test func `a process that exits with 0 before its tests end is a failure`() throws {
        let result = try run([Self.test("A.S/one()"), Self.event("testStarted", "A.S/one()", 1)])
        #expect(result.progress.failed == 1)
    }

    @Test func `a test that waits forever is ended with all processes that it started`() throws {
        let child = scratch.path + "/child"
        let result = try run(
            [Self.test("A.S/one()"), Self.event("testStarted", "A.S/one()", 1)],
            then: "sleep 3600 & echo $! >'\(child)'; wait", idleSeconds: 0.4)
        #expect(result.progress.failures.first?.message.hasPrefix("no progress for 0 s") == true)
        #expect(try !isRunning(child))
    }

    @Test func `a run is ended at its deadline with all processes that it started`() throws {
        let child = scratch.path + "/child"
        let deadline = TestProcess.now + 0.5
        let (run, group) = try prepare(
            [Self.test("A.S/one()"), Self.event("testStarted", "A.S/one()", 1)],
            then: "sleep 3600 & echo $! >'\(child)'; wait", deadline: deadline)
        #expect(try !run.run([group]) { _ in Issue.record("the group has not ended") })
        #expect(TestProcess.now >= deadline)
        if FileManager.default.fileExists(atPath: child) { #expect(try !isRunning(child)) }
    }

    @Test func `processes that a test leaves running end with it`() throws {
        let child = scratch.path + "/child"
        let result = try run(
            [
                Self.test("A.S/one()"), Self.event("testStarted", "A.S/one()", 1),
                Self.event("testEnded", "A.S/one()", 2),
            ], then: "sleep 3600 & echo $! >'\(child)'")
        #expect(result.progress.passed == 1 && result.progress.failed == 0)
        #expect(try !isRunning(child))
    }
}
