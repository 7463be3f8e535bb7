import TandemIO
import Testing

@testable import Tandem

/// The output of `TANDEM_DEBUG`.
@MainActor @Suite struct OperationLogTests {
    /// The lines that were written.
    final class Lines: Sendable {
        private let state = Locked([String]())
        func add(_ line: String) { state.withLock { $0.append(line) } }
        /// Returns the lines since the last call.
        func drain() -> [String] {
            state.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private func log(_ text: String, _ lines: Lines) -> OperationLog? {
        OperationLog(text, clock: ManualClock()) { lines.add($0) }
    }

    @Test func `a save, a fault, a fetch and a merge are one line each`() throws {
        let daemon = try FakeDaemon(buckets)
        let lines = Lines()
        let context = daemon.container().makeContext(name: "two words")
        // A context that follows the entity merges its own save.
        _ = try context.fetch(Content.self)
        context.log = log("1", lines)
        let content = try context.insert(Content.self)
        content.size = 4
        try context.save()
        let name = #"context="two words""#
        #expect(
            lines.drain() == [
                "tandem merge: \(name) position=1 after=0 transactions=1 objects=1 listeners=0 "
                    + "ms=0.000\n",
                "tandem save: \(name) position=1 objects=1 ms=0.000\n",
            ])
        context.refresh(content, mergeChanges: false)
        #expect(content.size == 4)
        #expect(
            lines.drain() == [
                "tandem fault: \(name) position=1 entity=Content rows=1 lists=0 ms=0.000\n"
            ])
        _ = try context.fetch(Bucket.self)
        #expect(
            lines.drain() == [
                "tandem fetch: \(name) position=1 entity=Bucket where=- count=0 ms=0.000\n"
            ])
    }

    @Test func `a failure is logged with its error`() throws {
        let daemon = try FakeDaemon(buckets)
        let lines = Lines()
        let context = daemon.container().makeContext(name: "c")
        context.log = log("save", lines)
        _ = try context.insert(Content.self)
        daemon.state.withLock { $0.refusesSaves = TandemError(.validation, "no\nway") }
        #expect(throws: TandemError.self) { try context.save() }
        #expect(
            lines.drain() == [
                #"tandem save: context=c error="validation: no\nway" ms=0.000"# + "\n"
            ]
        )
    }

    @Test func `only the named topics are logged, and a wrong name is reported once`() throws {
        let lines = Lines()
        #expect(log("", lines) == nil && log("0", lines) == nil)
        #expect(lines.drain().isEmpty)
        let chosen = try #require(log("merge,fetches", lines))
        #expect(chosen.logs(.merge) && !chosen.logs(.fetch))
        #expect(
            lines.drain() == [
                "tandem: TANDEM_DEBUG must be connect,merge,fetch,fault,save or 1, not fetches\n"
            ])
        let all = try #require(log("1", lines))
        let untold = OperationLog.Topic.allCases.filter { !all.logs($0) }
        #expect(untold.isEmpty)
    }

    @Test func `milliseconds have three decimals`() throws {
        let (lines, clock) = (Lines(), ManualClock())
        let log = try #require(OperationLog("save", clock: clock) { lines.add($0) })
        let start = log.now
        clock.advance(byNanoseconds: 12_034_999)
        log.add(.save, "c", since: start, [])
        log.add(.fetch, "c", since: start, [])
        #expect(lines.drain() == ["tandem save: context=c ms=12.034\n"])
    }
}
