import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import Testing

@Suite(.ownThread, .serialized) struct BridgeControllerTests {
    private let contents = #"""
        {"do": "save", "ops": [
        {"insert": "Team", "as": "a", "set": {"name": "A", "zone": "Africa", "wins": 1}},
        {"insert": "Team", "as": "b", "set": {"name": "B", "zone": "Asia", "wins": 2}},
        {"insert": "Team", "as": "c", "set": {"name": "C", "zone": "Asia", "wins": 3}}]}
        """#
    private let open = #"""
        {"do": "open", "controller": "c", "entity": "Team", "sort": ["zone", "-wins"], "sections": "zone"}
        """#

    @Test func `open, sections, refetch and close return the list at a position`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        try bridge.ask(contents)
        let opened = try bridge.ask(open)
        #expect(
            try opened
                == .of(
                    #"""
                    {"position": 2, "sections": [
                    {"name": "Africa", "indexTitle": "A", "objects": ["Team/1"]},
                    {"name": "Asia", "indexTitle": "A", "objects": ["Team/3", "Team/2"]}]}
                    """#))
        #expect(try bridge.ask(#"{"do": "sections", "controller": "c"}"#) == opened)
        let few = try bridge.ask(
            #"{"do": "refetch", "controller": "c", "sections": null, "where": "wins > %@", "arguments": [1]}"#
        )
        #expect(
            try few["sections"]
                == .of(#"[{"name": "", "indexTitle": "", "objects": ["Team/3", "Team/2"]}]"#))
        for (request, code) in [
            (open, "usage"),
            (#"{"do": "refetch", "controller": "c", "where": "wins >"}"#, "invalidPredicate"),
            (#"{"do": "refetch", "controller": "c", "sort": null}"#, "noSortDescriptors"),
            (
                #"{"do": "refetch", "controller": "c", "sections": "zone", "sort": ["wins"], "where": "name == name OR TRUEPREDICATE"}"#,
                nil
            ),
            (#"{"do": "refetch", "controller": "c", "context": "w"}"#, "usage"),
            (#"{"do": "sections", "controller": "d"}"#, "unknownController"),
            (
                #"{"do": "open", "controller": "d", "entity": "Nope", "sort": ["x"]}"#,
                "unknownEntity"
            ),
            (
                #"{"do": "open", "controller": "d", "entity": "Team", "sort": ["x"]}"#,
                "unknownProperty"
            ),
            (
                #"{"do": "open", "controller": "d", "entity": "Team", "sort": ["name"], "limit": -1}"#,
                "usage"
            ),
        ] as [(String, String?)] {
            #expect(try bridge.refusal(request) == code, "\(request)")
        }
        #expect(try bridge.ask(#"{"do": "close", "controller": "c"}"#) == .object([:]))
        #expect(try bridge.refusal(#"{"do": "close", "controller": "c"}"#) == "unknownController")
        try bridge.ask(open)
        #expect(bridge.drainEvents().isEmpty)
    }

    @Test func `law 4: a cached list outlives the kill of its bridge, also under another name`()
        throws
    {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let writer = try daemon.first()
        try writer.ask(contents)
        let told = daemon.place.path + "/told"
        /// Returns the number of fetches of rows and of verdict requests about cached rows.
        func fetches() throws -> [Int] {
            let lines = try String(contentsOfFile: told, encoding: .utf8).split(separator: "\n")
                .filter { $0.hasPrefix("tandem fetch:") }
            let verdicts = lines.count { $0.contains(" verdicts=") }
            return [lines.count - verdicts, verdicts]
        }
        func open(_ cache: String) throws -> (bridge: BridgeProcess, answer: JSON) {
            let bridge = try BridgeProcess(daemon.place.socket, debug: told)
            let answer = try bridge.ask(
                #"""
                {"do": "open", "controller": "c", "entity": "Team", "sort": ["zone", "-wins"],
                "sections": "zone", "cache": "\#(cache)"}
                """#)
            return (bridge, answer)
        }
        let first = try open("one").bridge
        try first.ask(#"{"do": "refetch", "controller": "c", "cache": "two"}"#)
        first.kill()
        #expect(try fetches() == [2, 0])
        try writer.ask(
            #"""
            {"do": "save", "ops": [{"update": "Team/1", "set": {"zone": "Asia"}}, {"delete": "Team/2"}]}
            """#)
        let expected = try writer.ask(self.open)
        for cache in ["one", "two"] {
            let (bridge, answer) = try open(cache)
            #expect(answer == expected, "\(cache)")
            bridge.kill()
        }
        #expect(try fetches() == [2, 2])
        // Without a name no list is cached, and a refused name leaves the request unchanged.
        let (bridge, _) = try open("two")
        #expect(try bridge.refusal(#"{"do": "refetch", "controller": "c", "cache": 3}"#) == "usage")
        let refetched = try bridge.ask(#"{"do": "refetch", "controller": "c", "cache": null}"#)
        #expect(refetched == expected)
        #expect(try bridge.finish() == .exited(0))
    }

    @Test func `a change is written before the answer to the save that made it`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        try bridge.ask(contents)
        try bridge.ask(open)
        try bridge.ask(
            #"""
            {"do": "save", "context": "w", "ops": [{"delete": "$a"}, {"update": "$b", "set": {"wins": 4}},
            {"update": "$c", "set": {"name": "CC"}}, {"insert": "Team", "set": {"name": "D", "zone": "Europe"}}]}
            """#)
        #expect(
            try bridge.drainEvents() == [
                .of(
                    #"""
                    {"event": "change", "controller": "c", "position": 3,
                    "sections": [{"type": "delete", "index": 0, "name": "Africa"},
                    {"type": "insert", "index": 1, "name": "Europe"}],
                    "objects": [{"type": "delete", "object": "Team/1", "from": [0, 0]},
                    {"type": "insert", "object": "Team/4", "to": [1, 0]},
                    {"type": "move", "object": "Team/2", "from": [1, 1], "to": [0, 0]},
                    {"type": "update", "object": "Team/3", "from": [1, 0], "to": [0, 1]}]}
                    """#)
            ])
    }

    @Test func `a paused context reports nothing, and resuming reports one change`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let (one, two) = (try daemon.first(), try daemon.bridge())
        try one.ask(contents)
        try two.ask(open)
        try two.ask(#"{"do": "observe", "observer": "o", "entity": "Team", "where": "wins > 5"}"#)
        let paused = try two.ask(#"{"do": "pause"}"#)
        for wins in [7, 9, 2] {
            try one.ask(#"{"do": "save", "ops": [{"update": "$a", "set": {"wins": \#(wins)}}]}"#)
        }
        #expect(
            try two.ask(#"{"do": "sections", "controller": "c"}"#)["position"] == paused["position"]
        )
        #expect(two.drainEvents().isEmpty)
        #expect(try two.ask(#"{"do": "resume"}"#)["position"] == .int(5))
        let events = two.drainEvents()
        #expect(events.filter { $0["event"]?.string == "change" }.count == 1)
        let saves = events.filter { $0["event"]?.string == "save" }
        #expect(saves.map { $0["position"] } == [.int(3), .int(4), .int(5)])
        #expect(
            saves.map { $0["updated"]?.array?.first?["before"] } == [
                .bool(false), .bool(true), .bool(true),
            ])
        // The context follows saves again, without a request.
        try one.ask(#"{"do": "save", "ops": [{"delete": "$a"}]}"#)
        #expect(try two.event()["position"] == .int(6))
    }

    @Test func `a save of a lagging context is one change, whatever its ops read`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let (bridge, other) = (try daemon.first(), try daemon.bridge("other"))
        try bridge.ask(contents)
        try bridge.ask(
            #"""
            {"do": "save", "ops": [{"insert": "Tag", "set": {"name": "x", "teams": ["Team/1"]}}, {"insert": "Tag", "set": {"name": "y"}}, 
            {"insert": "Player", "set": {"name": "p", "team": "Team/1"}}]}
            """#)
        for (place, op) in [
            #"{"update": "Team/1", "set": {"tags": ["Tag/5"]}}"#,
            #"{"update": "Team/1", "set": {"players": []}}"#,
            #"{"update": "Team/1", "add": {"tags": ["Tag/4"]}}"#,
            #"{"update": "Team/1", "remove": {"tags": ["Tag/5"]}}"#,
            #"{"insert": "Team", "set": {"name": "D", "tags": ["Tag/5"]}}"#,
        ].enumerated() {
            // Each has its own context, which has the row but none of its members.
            let name = "w\(place)"
            try bridge.ask(
                open.replacing(
                    #""controller": "c""#, with: #""context": "\#(name)", "controller": "\#(name)""#
                ))
            let missed = try other.ask(
                #"{"do": "save", "ops": [{"update": "Team/1", "set": {"wins": \#(50 + place)}}]}"#)
            let before = bridge.drainEvents().filter { $0["controller"]?.string == name }
            let saved = try bridge.ask(
                #"{"do": "save", "policy": "objectTrump", "context": "\#(name)", "ops": [\#(op)]}"#)
            let changes = bridge.drainEvents().filter { $0["controller"]?.string == name }
            #expect(before.isEmpty)
            #expect(changes.map { $0["position"] } == [saved["position"]], "\(op)")
            #expect(missed["position"] != saved["position"])
        }
        #expect(
            try bridge.ask(
                #"{"do": "fetch", "entity": "Team", "where": "name == 'A'", "properties": ["tags", "players", "wins"]}"#
            ).firstValues
                == .of(#"{"players": [], "tags": ["Tag/4"], "wins": 54}"#))
    }

    @Test func `sections out of order fail until their order is restored`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        try bridge.ask(contents)
        let wrong =
            #"{"do": "open", "controller": "w", "entity": "Team", "sort": ["wins"], "sections": "zone"}"#
        try bridge.ask(wrong)
        try bridge.ask(
            #"{"do": "save", "ops": [{"update": "$a", "set": {"wins": 2}}, {"update": "$b", "set": {"wins": 1}}]}"#
        )
        let failure = try #require(bridge.drainEvents().first)
        #expect(failure["event"] == .string("failure"))
        #expect(failure["error"]?["code"] == .string("outOfOrderSection"))
        #expect(
            try bridge.refusal(#"{"do": "sections", "controller": "w"}"#) == "outOfOrderSection")
        #expect(try bridge.refusal(wrong.replacing("w\"", with: "v\"")) == "outOfOrderSection")
        try bridge.ask(#"{"do": "save", "ops": [{"update": "$a", "set": {"wins": 0}}]}"#)
        let change = try #require(bridge.drainEvents().first)
        #expect(change["event"] == .string("change"))
        #expect(try bridge.ask(#"{"do": "sections", "controller": "w"}"#)["position"] == .int(4))
    }
}
