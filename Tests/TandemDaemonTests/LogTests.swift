import FoundationEssentials
import TandemIO
import TandemWire
import Testing

@testable import TandemDaemon

/// Log lines: their format, their names, and the data that they must not contain.
@Suite(.ownThread) struct LogTests {
    @Test func `a line is a name, fields, and a message`() {
        #expect(
            LogLine.text(.stopped, ["position": 7, "duration_us": 12])
                == "stopped: position=7 duration_us=12")
        let line = LogLine.text(
            .connectionDropped,
            ["uid": 4, "author": "two words", "unit": "", "path": "/run/a.sock"],
            message: "no \"hello\"")
        #expect(
            line == #"connection-dropped: uid=4 author="two words" unit="" path=/run/a.sock "#
                + #"message="no \"hello\"""#)
    }

    @Test func `a client's name can't begin a line or a field of its own`() {
        for text in [
            "a\nready: x", "a\r\nb", "a\u{2028}b", "a\u{0}b\u{1b}[31m", "a=b\" c=\"d", "\\",
        ] {
            let line = LogLine.text(.connectionOpened, ["author": text])
            #expect(!line.unicodeScalars.contains { $0.value < 32 || $0.value == 0x2028 })
            #expect(line.hasPrefix("connection-opened: author=\"") && line.hasSuffix("\""))
            // Every quote inside is escaped.
            let inner = line.dropFirst("connection-opened: author=\"".count).dropLast()
            #expect(!inner.replacing("\\\\", with: "").replacing("\\\"", with: "").contains("\""))
        }
        let long = LogLine.text(.connectionOpened, ["author": String(repeating: "x", count: 5_000)])
        #expect(long.count < 1_100)
    }

    @Test func `fields of a line below the log level are not evaluated`() {
        let lines = Log()
        let log = DaemonLog(level: .warning) { lines.add("\($0.rawValue) \($1)") }
        func never() -> Int { fatalError("it was made") }
        log(.flushed, ["saves": never()])
        log(.slow, ["cause": "flush"])
        log(.failed, [:], "gone")
        #expect(lines.lines == ["4 slow: cause=flush", #"2 failed: message="gone""#])
    }

    @Test func `levels are known by name`() {
        for level in LogLevel.allCases { #expect(LogLevel(name: "\(level)") == level) }
        #expect(LogLevel(name: "loud") == nil)
    }

    @Test func `at every level no value of an object is logged`() throws {
        let secret = "s3cret-value"
        let bench = try EngineBench()
        let client = try bench.client(Hello(author: "keeper", interests: ["Node"]))
        try client.save([
            try bench.bench.insert("Node", 1, ["name": .string(secret), "code": .string(secret)])
        ])
        // The save is refused, and the answer's text contains the value.
        let again = try bench.bench.insert("Node", 2, ["code": .string(secret)])
        _ = try client.ask(.save(client.saveRequest([again])))
        try bench.turn()
        #expect(bench.log.lines.contains { $0.contains("saved: position=") })
        #expect(bench.log.lines.contains { $0.contains("save-refused: code=uniqueness") })
        #expect(!bench.log.lines.contains { $0.contains(secret) })
    }

    @Test func `law 8: a series of dropped connections does not fill the log`() throws {
        let clock = ManualClock(monotonicNanoseconds: 1)
        let bench = try EngineBench(engineClock: clock)
        let most = DaemonLimits.logLinesInInterval
        func drop(_ count: Int) throws {
            for _ in 0..<count {
                let peer = try bench.peer()
                bench.engine.end(peer.session, Ending("a test ended it"))
            }
        }
        try drop(3 * most)
        #expect(bench.dropped == most)
        bench.engine.reporter.reportWithheldLines()
        #expect(!bench.log.lines.contains { $0.contains("lines-withheld") })
        let due = try #require(bench.engine.reporter.nextReport)
        clock.advance(byNanoseconds: due - clock.monotonicNanoseconds)
        bench.engine.reporter.reportWithheldLines()
        let line = try #require(bench.log.lines.last)
        #expect(line.contains("lines-withheld: event=connection-dropped lines=\(2 * most)"))
        #expect(bench.engine.reporter.nextReport == nil)
        try drop(1)
        #expect(bench.dropped == most + 1)
        #expect(bench.engine.status["refused"]?.int == Int64(3 * most + 1))
    }

    @Test func `the page's table has every event with its priority`() throws {
        let rows = try Page.rows(under: "| event | priority |")
        let expected = LogEvent.allCases.map { [$0.rawValue, "\($0.level)"] }.sorted {
            $0[0] < $1[0]
        }
        #expect(rows.map { Array($0.prefix(2)) }.sorted { $0[0] < $1[0] } == expected)
        #expect(rows.allSatisfy { $0.count == 4 && !$0[3].isEmpty })
    }

    @Test func `the page's table has every reason of a refusal`() throws {
        let rows = try Page.rows(under: "| reason | when |")
        #expect(rows.map { $0[0] } == Refusal.allCases.map(\.rawValue))
        #expect(rows.allSatisfy { $0.count == 3 && !$0[1].isEmpty })
        // The limits that cause a refusal are known limits.
        let named = rows.flatMap { $0[2].split(separator: " ") }.filter { $0.contains(".") }
        for limit in named {
            let name = String(limit.dropFirst("limits.".count).filter(\.isLetter))
            #expect(Limit(rawValue: name) != nil, "\(limit)")
        }
        #expect(named.count >= 6)
    }
}

/// The page `Observability.md` of the daemon.
enum Page {
    /// Returns the cells of a table's rows, without backticks.
    static func rows(under header: String) throws -> [[String]] {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        let path =
            parts.joined(separator: "/") + "/Daemon/TandemDaemon/TandemDaemon.docc/Observability.md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix(header) }, "no \(header)")
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
                .map { cell in
                    String(
                        cell.filter { $0 != "`" }.drop { $0 == " " }.reversed().drop { $0 == " " }
                            .reversed())
                }
        }
    }
}
