import Foundation
import Tandem
import TandemIO
import Testing

/// Ordered relationships through the bridge and the tool, which keep the order of arrays in every
/// read.
@Suite(.ownThread) struct OrderedTests {
    private static let model = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string"}}, "relationships": {
                "players": {"to": "Player", "toMany": true, "ordered": true, "inverse": "team"},
                "songs": {"to": "Song", "toMany": true, "ordered": true, "inverse": "teams"}}},
            "Player": {"attributes": {"name": {"type": "string"}},
                "relationships": {"team": {"to": "Team", "inverse": "players"}}},
            "Song": {"relationships": {"teams": {"to": "Team", "toMany": true, "inverse": "songs"}}}}}
        """

    let place: Place
    let daemon: DaemonProcess
    let bridge: BridgeProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
        bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(Self.model)}"#)
        let players = (2...5).map {
            #"{"insert": "Player", "as": "p\#($0)", "set": {"name": "\#($0)"}}"#
        }
        try bridge.ask(
            """
            {"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}},
            \(players.joined(separator: ", ")),
            {"update": "$t", "set": {"players": ["$p4", "$p2", "$p5"]}}]}
            """)
    }

    private func tandem(_ arguments: String...) throws -> String {
        let run = try CommandRun("tandem", arguments + ["--socket", place.socket])
        #expect(run.code == 0, "\(run.output)")
        return run.output
    }

    private func players(_ more: String = "") throws -> JSON? {
        try bridge.ask(
            #"{"do": "fetch", "entity": "Team", "properties": ["players"]\#(more)}"#
        ).firstValues?["players"]
    }

    private func save(_ ops: String) throws {
        try bridge.ask(#"{"do": "save", "ops": [\#(ops)]}"#)
    }

    @Test func `an array of ids determines the order, in the bridge and in every verb`() throws {
        #expect(try players() == .of(#"["Player/4", "Player/2", "Player/5"]"#))
        try save(#"{"update": "$t", "set": {"players": ["$p5", "$p4", "$p2", "$p5"]}}"#)
        #expect(try players() == .of(#"["Player/5", "Player/4", "Player/2"]"#))
        #expect(try players(#", "context": "late""#) == players())
        #expect(try players(#", "at": 2"#) == .of(#"["Player/4", "Player/2", "Player/5"]"#))
        let log = try tandem("log", "-n", "1")
        #expect(log.contains("touch Team/1 players~Player/5"), "\(log)")
        #expect(try tandem("log", "-n", "1", "-o", "json").contains(#""moved":["Player/5"]"#))
        #expect(try tandem("log", "show", "3").contains("~ Player/5"))
        #expect(try tandem("diff", "2", "3").contains("~ Player/5"))
        #expect(try tandem("show", "Team/1").contains(#"Player/5 "5", Player/4 "4", Player/2 "2""#))
        #expect(
            try tandem("show", "Team/1", "--at", "2")
                .contains(#"Player/4 "4", Player/2 "2", Player/5 "5""#))
        #expect(try tandem("export", "Team", "-o", "csv").contains("Player/5 Player/4 Player/2"))
        let exported = try tandem("export", "Team", "-o", "ndjson")
        #expect(exported.contains(#""players":["Player/5","Player/4","Player/2"]"#), "\(exported)")
    }

    @Test func `added members go to the end, the others keep their order`() throws {
        try save(#"{"update": "$t", "add": {"players": ["$p3", "$p2"]}}"#)
        #expect(try players() == .of(#"["Player/4", "Player/2", "Player/5", "Player/3"]"#))
        try save(#"{"update": "$t", "remove": {"players": ["$p2"]}}"#)
        #expect(try players() == .of(#"["Player/4", "Player/5", "Player/3"]"#))
        try save(#"{"update": "$p2", "set": {"team": "$t"}}"#)
        #expect(
            try players() == .of(#"["Player/4", "Player/5", "Player/3", "Player/2"]"#))
        try save(#"{"update": "$t", "set": {"players": []}}"#)
        #expect(try players() == .of("[]"))
    }

    @Test func `a batch and an import keep the order of their arrays`() throws {
        try save(#"{"insert": "Song", "as": "a"}, {"insert": "Song", "as": "b"}"#)
        try bridge.ask(
            #"{"do": "batch", "insert": "Team", "rows": [{"name": "B", "songs": ["$b", "$a"]}]}"#)
        let songs = #""where": "name = 'B'", "properties": ["songs"]"#
        #expect(
            try bridge.ask(#"{"do": "fetch", "entity": "Team", \#(songs)}"#).firstValues?["songs"]
                == .of(#"["Song/7", "Song/6"]"#))
        let file = place.path + "/teams.csv"
        try "name,players\r\nC,Player/5 Player/3 Player/4\r\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        _ = try tandem("import", file, "--entity", "Team")
        let exported = try tandem("export", "Team", "-o", "csv")
        #expect(exported.contains("C,Player/5 Player/3 Player/4,"), "\(exported)")
        #expect(exported.contains("A,Player/2,"), "\(exported)")
    }

    @Test func `check and verify accept the saved order`() throws {
        try save(#"{"update": "$t", "set": {"players": ["$p5", "$p3", "$p2"]}}"#)
        daemon.end(SIGTERM)
        let before = try CommandRun("tandem", ["dump", "-D", place.store])
        #expect(before.code == 0, "\(before.output)")
        let check = try CommandRun("tandem", ["check", "-D", place.store])
        #expect(check.code == 0, "\(check.output)")
        let verify = try CommandRun("tandem", ["verify", "-D", place.store, "--deep"])
        #expect(verify.code == 0, "\(verify.output)")
    }
}
