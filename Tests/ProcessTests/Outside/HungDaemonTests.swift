import Foundation
import Glibc
import TandemIO
import Testing

/// `tandem` beside a daemon that accepts connections and does not answer, as under SIGSTOP.
@Suite(.ownThread) struct HungDaemonTests: StoreSuite {
    let place: Place
    let daemon: DaemonProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
    }

    @Test func `every verb ends with the exit code of a missing daemon`() throws {
        let rows = try file("rows.ndjson", #"{"entity":"Team","values":{}}"# + "\n")
        let model = try file("model.json", #"{"entities": {"Team": {}}}"#)
        try stand(daemon.processID)
        defer { kill(daemon.processID, SIGCONT) }
        let verbs = [
            "status", "health", "clients", "consumers", "subscriptions", "config", "metrics", "log",
            "blame Team/1", "history Team/1", "show Team/1", "diff 1 2", "fetch Team", "count Team",
            "explain Team", "schema", "wait 1 --timeout 0", "wait 1 --timeout 1", "watch Team",
            "top", "disk-usage", "vacuum --size 1 --yes", "reload", "export Team", "delete Team/1",
            "revert 1", "insert Team name=A", "update Team/1 name=A", "import \(rows)",
            "schema apply \(model)", "consumers register mirror",
        ]
        // Beside one another, for each waits some seconds.
        let runs = verbs.map {
            "(r=$('\(DaemonProcess.products)/tandem' \($0) --socket '\(place.socket)' 2>&1); "
                + #"echo "\#($0): $? $r") & "#
        }
        let lines = try CommandRun(shell: runs.joined() + "wait").lines
        for verb in verbs {
            let line = try #require(lines.first { $0.hasPrefix("\(verb): ") }, "\(lines)")
            #expect(line.hasPrefix("\(verb): 3 tandem: "), "\(line)")
            #expect(line.contains("did not answer"), "\(line)")
        }
        #expect(lines.count == verbs.count, "\(lines)")
    }

    @Test func `metrics says in its file that the daemon is not up`() throws {
        let file = place.path + "/tandem.prom"
        #expect(try tandem("metrics", "-O", file).code == 0)
        try stand(daemon.processID)
        defer { kill(daemon.processID, SIGCONT) }
        expectLine(try tandem("metrics", "-O", file), 3, "did not answer")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.hasSuffix("\ntandem_up 0\n"), "\(text)")
    }

    @Test(.enabled(if: isInstalled("script"), "script is not installed"))
    func `top says for how long there was no answer, and resumes`() throws {
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
        try stand(daemon.processID)
        #expect(read(until: "s; the figures below are from before"))
        kill(daemon.processID, SIGCONT)
        #expect(read(until: "\u{1b}[Htandemd running"))
        #expect(daemon.end(SIGTERM) == 0)
        #expect(read(until: "tandem: "))
        top.wait()
    }
}
