import Foundation
import Glibc
import TandemIO
import Testing

/// `tandem` with a daemon that accepts connections and does not answer, as under SIGSTOP.
@Suite(.ownThread) struct HungDaemonTests: StoreSuite {
    let place: Place
    let daemon: DaemonProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
        // The verbs run in parallel with the first test.
        _ = try Self.asked.get()
    }

    @Test(.enabled(if: isInstalled("script"), "script is not installed"))
    func `top reports how long there was no answer, and resumes`() throws {
        let command =
            "'\(DaemonProcess.products)/tandem' top -d 0.1 --color never --socket '\(place.socket)'"
        let top = try ChildProcess.start(
            "/usr/bin/env", ["TERM=xterm", "script", "-qec", command, "/dev/null"], output: .pipe)
        var reader = LineReader(try #require(top.output))
        func read(until part: String) -> Bool {
            while let line = reader.next() { if line.contains(part) { return true } }
            return false
        }
        // Before there are rates, the figures are shown without them.
        #expect(read(until: "saves -/s"))
        try suspendProcess(daemon.processID)
        #expect(read(until: "s; the figures below are older"))
        kill(daemon.processID, SIGCONT)
        #expect(read(until: "\u{1b}[Htandemd running"))
        #expect(daemon.end(SIGTERM) == 0)
        #expect(read(until: "tandem: "))
        top.wait()
    }

    private static let verbs = [
        "status", "health", "clients", "consumers", "subscriptions", "config", "metrics", "log",
        "blame Team/1", "history Team/1", "show Team/1", "diff 1 2", "fetch Team", "count Team",
        "explain Team", "schema", "wait 1 --timeout 0", "wait 1 --timeout 1", "watch Team", "top",
        "disk-usage", "vacuum --size 1 --yes", "reload", "export Team", "delete Team/1",
        "revert 1", "insert Team name=A", "update Team/1 name=A", "import rows.ndjson",
        "schema apply model.json", "consumers register mirror", "metrics -O tandem.prom",
    ]

    /// The place of a stopped daemon, and a shell that runs the verbs on it.
    ///
    /// The verbs run all at once and in parallel with the tests, because each waits for several
    /// seconds.
    private static let asked = Result {
        let place = try Place()
        let daemon = try place.serve()
        for (name, text) in [
            ("rows.ndjson", #"{"entity":"Team","values":{}}"# + "\n"),
            ("model.json", #"{"entities": {"Team": {}}}"#),
        ] { try text.write(toFile: place.path + "/" + name, atomically: true, encoding: .utf8) }
        let tandem = "'\(DaemonProcess.products)/tandem'"
        let metrics = "\(tandem) metrics -O tandem.prom --socket socket"
        try CommandRun(shell: "cd '\(place.path)' && \(metrics)").check()
        try suspendProcess(daemon.processID)
        let runs = verbs.map {
            "(r=$(\(tandem) \($0) --socket socket 2>&1); " + #"echo "\#($0): $? $r") & "#
        }
        // The shell ends the daemon, even if the tests end earlier.
        let shell = try ChildProcess.start(
            "/bin/sh",
            ["-c", "cd '\(place.path)'; \(runs.joined()) wait; kill -KILL \(daemon.processID)"],
            output: .pipe)
        return (place: place, shell: shell)
    }

    /// The lines that the verbs printed.
    private static let answers = Result {
        var reader = LineReader(try #require(try asked.get().shell.output))
        var lines: [String] = []
        while let line = reader.next() { lines.append(line) }
        return lines
    }

    private func expectNoAnswer(_ verb: String) throws {
        let lines = try Self.answers.get()
        let line = try #require(lines.first { $0.hasPrefix("\(verb): ") }, "\(lines)")
        #expect(line.hasPrefix("\(verb): 3 tandem: "), "\(line)")
        #expect(line.contains("did not answer"), "\(line)")
    }

    @Test func `every verb ends with the exit code of a missing daemon`() throws {
        for verb in Self.verbs { try expectNoAnswer(verb) }
        let lines = try Self.answers.get()
        #expect(lines.count == Self.verbs.count, "\(lines)")
    }

    @Test func `wait keeps its time limit, also for a missing daemon`() throws {
        for seconds in ["0", "1"] {
            let verb = "wait 1 --timeout \(seconds)"
            let line = try #require(try Self.answers.get().first { $0.hasPrefix("\(verb): ") })
            #expect(line.hasSuffix("the daemon did not answer within \(seconds).0 s"), "\(line)")
        }
        let missing = place.path + "/missing"
        let run = try CommandRun("tandem", ["wait", "1", "--timeout", "0", "--socket", missing])
        expectLine(run, 3, "no daemon listens on \(missing)")
    }

    @Test func `metrics reports in its file that the daemon is not up`() throws {
        try expectNoAnswer("metrics -O tandem.prom")
        let file = try Self.asked.get().place.path + "/tandem.prom"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.hasSuffix("\ntandem_up 0\n"), "\(text)")
    }
}
