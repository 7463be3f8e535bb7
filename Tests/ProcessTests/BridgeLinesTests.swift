import FuzzTargets
import Glibc
import TandemIO
import TandemModel
import TestSupport
import Testing

/// Mutated requests, sent to the bridge as lines.
@Suite(.ownThread) struct BridgeLinesTests {
    private static let requests = [
        #"{"id": 1, "do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "a", "wins": 3}}]}"#,
        #"{"id": 1, "do": "save", "ops": [{"update": "Team/1", "set": {"born": "2022-11-20T16:00:00Z", "budget": "1.5"}, "add": {"tags": ["Tag/2"]}}], "policy": "overwrite", "saveId": "x"}"#,
        #"{"id": 1, "do": "save", "ops": [{"delete": "Team/1"}], "author": "b", "context": "c"}"#,
        #"{"id": 1, "do": "fetch", "entity": "Team", "where": "ANY players.name = %@", "arguments": ["x"], "sort": ["-wins", {"key": "name", "selector": "caseInsensitiveCompare:"}], "limit": 3, "offset": 1}"#,
        #"{"id": 1, "do": "count", "entity": "Club", "where": "wins BETWEEN {1, 5}", "includesSubentities": false}"#,
        #"{"id": 1, "do": "open", "controller": "c1", "entity": "Team", "sort": ["zone"], "sections": "zone", "refresh": ["players.name"]}"#,
        #"{"id": 1, "do": "refetch", "controller": "c1", "where": null, "limit": 2}"#,
        #"{"id": 1, "do": "sections", "controller": "c1"}"#,
        #"{"id": 1, "do": "close", "controller": "c1"}"#,
        #"{"id": 1, "do": "observe", "observer": "o", "entity": "Team", "where": "wins > 1"}"#,
        #"{"id": 1, "do": "pause", "context": "main"}"#, #"{"id": 1, "do": "resume"}"#,
        #"{"id": 1, "do": "reach", "position": 1, "timeout": 0}"#, #"{"id": 1, "do": "schema"}"#,
        #"{"id": 1, "do": "schema", "apply": {"entities": {"Team": {"attributes": {"n": {"type": "int"}}}}}}"#,
    ]

    @Test func `law 7: a line that is nearly a request has one answer, and the bridge continues`()
        throws
    {
        let world = try BridgedDaemon()
        let bridge = try world.first()
        let honest = try world.bridge("honest")
        var mutator = Mutator(Self.requests.map { Array($0.utf8) }, seed: seed)
        for round in 0..<600 {
            let line = String(decoding: mutator.next(), as: UTF8.self).filter { !$0.isNewline }
            // A wait for a position far ahead would block.
            if line.contains("reach") { continue }
            bridge.write(line)
            bridge.write(#"{"id": "end \#(round)", "do": "count", "entity": "Tag"}"#)
            let answers = try answers(of: bridge, until: .string("end \(round)"))
            #expect(answers == 1, "seed \(seed): \(answers) answers to \(line)")
        }
        try honest.ask(#"{"do": "save", "ops": [{"insert": "Tag", "set": {"name": "end"}}]}"#)
        #expect(try bridge.finish() == .exited(0))
        _ = try honest.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
        let check = try CommandRun("tandem", ["check", "-D", world.place.store])
        #expect(check.code == 0, "\(check.output)")
    }

    /// Each line is refused at once, without a daemon.
    @Test(arguments: [
        "18446744073709551615", "9223372036854775807", "-9223372036854775809", "1.50", "-0.0",
        "1e400", "123456789012345678901234567890.5", "true", "null", #""a\"b""#,
    ]) func `an id is returned exactly as it was written`(_ id: String) throws {
        let program = DaemonProcess.products + "/tandem"
        let lines = [
            #"{"id": \#(id), "do": "nope"}"#, #"{"do": {"id": 5}, "id" :\#(id)}"#,
            #"{"do": "nope", "x": ["id", {"id": 7}], "id":\#(id) }"#,
        ]
        for line in lines {
            let run = try CommandRun(
                path: "/bin/sh",
                ["-c", "printf '%s\\n' \"$1\" | \"$0\" bridge --socket /none", program, line])
            #expect(run.lines.count == 1, "\(run.output)")
            #expect(run.output.hasSuffix(#","id":\#(id)}"# + "\n"), "\(line) \(run.output)")
        }
    }

    /// Returns the number of answers before the one with this id; events are not counted.
    private func answers(of bridge: BridgeProcess, until id: JSON) throws -> Int {
        var count = 0
        while true {
            let line = try bridge.read()
            if line["id"] == id { return count }
            if line["event"] == nil { count += 1 }
        }
    }
}
