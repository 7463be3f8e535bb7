import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import TandemWire
import Testing

/// The output of `tandem metrics` as Prometheus reads it.
@Suite(.ownThread) struct MetricsTests {
    let place: Place
    let daemon: DaemonProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
    }

    private func metrics() throws -> Exposition {
        let run = try CommandRun("tandem", ["metrics", "--socket", place.socket])
        try run.check()
        return try Exposition(run.output)
    }

    @Test func `the text is well formed, and its counters match the requests`() throws {
        let bridge = try BridgeProcess(place.socket, author: "a \"quoted\\ author\nof two lines")
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        try bridge.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        let before = try metrics()
        for number in 0..<20 {
            try bridge.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(number)"}}]}"#)
        }
        let after = try metrics()
        #expect(after.value("tandem_up") == 1)
        for name in ["tandem_save_seconds", "tandem_flush_seconds", "tandem_fan_out_seconds"] {
            let count = name + "_count"
            #expect((after.value(count) ?? 0) - (before.value(count) ?? 0) == 20, "\(name)")
            #expect((after.value(name + "_sum") ?? 0) > (before.value(name + "_sum") ?? 0))
        }
        #expect(after.value("tandem_transactions_total") == 21)
        #expect(after.value("tandem_journal_last_position") == 21)
        #expect(after.value("tandem_ring_transactions") == 21)
        let lags = after.families["tandem_client_lag_positions"]?.samples ?? []
        let mine = try #require(lags.first { $0.labels["author"]?.hasPrefix("a ") ?? false })
        #expect(mine.labels["author"] == "a \"quoted\\ author\nof two lines")
        #expect(mine.labels["uid"] == "\(ThisProcess.effectiveUserID)" && mine.value == 0)
        _ = try bridge.finish()
    }

    @Test func `refusals are counted by reason and by error`() throws {
        let socket = try Socket.connect(path: place.socket)
        try socket.writeAll([1, 2, 3])
        socket.shutdown()
        _ = daemon.readOutput { $0.contains("connection-dropped: reason=malformed") }
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        let insert =
            #"{"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "a"}}]}"#
        try bridge.ask(insert)
        // A save under an unknown model is refused by the daemon, not by the client.
        let stranger = try WireClient(place.socket, Hello())
        let other = SaveRequest(
            saveID: [1], contentHash: StableHash([]), modelVersion: 99, operations: [])
        guard case .failure(let error) = try stranger.ask(.save(other)) else {
            Issue.record("a save under an unknown model was accepted")
            return
        }
        #expect(error.code == .schemaMismatch)
        let metrics = try metrics()
        #expect(metrics.value("tandem_connections_refused_total", ["reason": "malformed"]) == 1)
        #expect(metrics.value("tandem_connections_refused_total", ["reason": "handshake"]) == 0)
        #expect(metrics.value("tandem_saves_refused_total", ["code": "schemaMismatch"]) == 1)
        #expect(metrics.value("tandem_requests_denied_total") == 0)
        #expect(metrics.value("tandem_limits_reached_total", ["limit": "connections"]) == 0)
        _ = try bridge.finish()
    }

    @Test func `the page's table has every metric with its type and labels`() throws {
        let page = try String(
            contentsOfFile: UnitFileTests.root
                + "/Daemon/TandemDaemon/TandemDaemon.docc/Observability.md", encoding: .utf8)
        var documented: [String: String] = [:]
        var labels: [String: Set<String>] = [:]
        for line in page.split(separator: "\n") where line.hasPrefix("| `tandem_") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.filter { $0 != "`" && $0 != " " } }
            documented[cells[1]] = cells[2]
            labels[cells[1]] = Set(cells[3].split(separator: ",").map(String.init))
        }
        let families = try metrics().families
        #expect(families.mapValues(\.type) == documented)
        for (name, family) in families {
            for sample in family.samples where family.type != "histogram" {
                #expect(Set(sample.labels.keys) == labels[name], "\(name)")
            }
        }
    }

    @Test func `a file is replaced atomically, and reports a missing daemon`() throws {
        let file = place.path + "/tandem.prom"
        func write() throws -> CommandRun {
            try CommandRun("tandem", ["metrics", "--socket", place.socket, "-O", file])
        }
        try write().check()
        #expect(try CommandRun(shell: "stat -c %a '\(file)'").output == "644\n")
        let whole = try Exposition(try String(contentsOfFile: file, encoding: .utf8))
        #expect(whole.value("tandem_up") == 1 && whole.families.count > 30)
        #expect(daemon.end(SIGTERM) == 0)
        let run = try write()
        #expect(run.code == 3 && run.lines.count == 1, "\(run.output)")
        #expect(
            try Exposition(try String(contentsOfFile: file, encoding: .utf8)).families.keys.sorted()
                == ["tandem_up"])
        #expect(
            try CommandRun(shell: "ls '\(place.path)'").lines.allSatisfy { !$0.hasSuffix("tmp") })
        let nowhere = try CommandRun(
            "tandem", ["metrics", "--socket", place.socket, "-O", place.path + "/none/x.prom"])
        #expect(nowhere.code != 0)
        let help = try CommandRun("tandem", ["metrics", "--help"])
        #expect(help.code == 0 && help.output.contains("Prometheus"))
    }
}
