import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import Testing

/// A client that is killed at each of the system calls that it makes around a save.
@Suite(.ownThread) struct KilledSaverTests {
    /// Whether strace is installed and may trace.
    static let isInstalled: Bool = {
        let words = ["-qq", "-o", "/dev/null", "/bin/true"]
        guard RealFileSystem().exists("/usr/bin/strace") else { return false }
        return (try? ChildProcess.start("/usr/bin/strace", words))?.wait() == .exited(0)
    }()

    private static let calls = "%network,write,writev,poll,ppoll,epoll_wait,epoll_ctl,close"

    @Test(.enabled(if: isInstalled, "strace is not installed or may not trace"))
    func `laws 3 and 7: a client killed at any call saved all or nothing, and affects no other`()
        throws
    {
        // A write to a killed client must not end this process.
        signal(SIGPIPE, SIG_IGN)
        let world = try BridgedDaemon()
        let honest = try world.first("honest")
        var (whole, killed) = (0, 0)
        var call = 1
        while call < 400 {
            let status = try saver(number: call, socket: world.place.socket)
            let saved = try honest.ask(
                #"{"do": "save", "ops": [{"insert": "Tag", "set": {"name": "\#(call)"}}]}"#)
            #expect(saved["position"] != nil)
            let teams = try count(
                #"{"do": "count", "entity": "Team", "where": "name = '\#(call)'"}"#, honest)
            let players = try count(
                #"{"do": "count", "entity": "Player", "where": "team.name = '\#(call)'"}"#, honest)
            #expect(
                teams * 2 == players, "killed at call \(call): \(teams) teams, \(players) players")
            whole += teams
            if status == .exited(0) { break }
            killed += 1
            call += 1
        }
        #expect(call < 400, "the client never ended")
        #expect(killed > 10)
        #expect(whole > 0)
        _ = try honest.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
        let check = try CommandRun("tandem", ["check", "-D", world.place.store])
        #expect(check.code == 0, "\(check.output)")
    }

    private func count(_ request: String, _ bridge: BridgeProcess) throws -> Int {
        Int(try bridge.ask(request)["count"]?.int ?? -1)
    }

    /// Runs a bridge that saves a team with two players, and is killed at the call with this
    /// number.
    private func saver(number: Int, socket: String) throws -> ChildProcess.Status {
        let ops = #"""
            [{"insert": "Team", "as": "t", "set": {"name": "\#(number)"}},
            {"insert": "Player", "set": {"team": "$t"}}, {"insert": "Player", "set": {"team": "$t"}}]
            """#.filter { $0 != "\n" }
        let words = [
            "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + Self.calls, "-e",
            "inject=\(Self.calls):signal=KILL:when=\(number)", DaemonProcess.products + "/tandem",
            "bridge", "--socket", socket,
        ]
        let child = try ChildProcess.start("/usr/bin/strace", words, input: .pipe, output: .null)
        child.write(#"{"id": 1, "do": "save", "ops": \#(ops)}"# + "\n")
        child.closeInput()
        return child.wait()
    }
}
