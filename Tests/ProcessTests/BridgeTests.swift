import Glibc
import TandemIO
import TandemModel
import Testing

@Suite(.ownThread, .serialized) struct BridgeTests {
    @Test func `schema reads an empty store, installs a model and notifies others`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let (one, two) = (try daemon.bridge(), try daemon.bridge())
        #expect(try one.ask(#"{"do": "schema"}"#)["model"] == .of(#"{"entities": {}}"#))
        try two.ask(#"{"do": "pause"}"#)
        let answer = try one.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        #expect(answer["position"] == .int(1))
        #expect(answer["model"]?["entities"]?.object?.count == 4)
        for events in [one.drainEvents(), [try two.event()]] {
            #expect(events.map { $0["event"]?.string } == ["schema"])
            #expect(events.first?["hash"] == answer["hash"])
        }
        // A paused context knows the model, although the context's position is before it.
        #expect(try two.ask(#"{"do": "fetch", "entity": "Team"}"#).ids.isEmpty)
        #expect(try one.refusal(#"{"do": "schema", "apply": {"entities": 1}}"#) == "usage")
        #expect(try one.finish() == .exited(0))
        #expect(try two.finish() == .exited(0))
    }

    @Test func `values of every type are returned as they were saved`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        let values = """
            "name": "$x", "zone": null, "wins": 9007199254740993, "born": 12.5, "logo": "AAEC",
            "budget": "1.25", "mark": "E621E1F8-C36C-495A-93FC-0C247A3E6E5F",
            "site": "https://a.b/c", "isOut": true, "rate": 0.1
            """
        try bridge.ask(
            #"{"do": "save", "ops": [{"insert": "Club", "as": "x", "set": {\#(values)}}]}"#)
        let found = try bridge.ask(#"{"do": "fetch", "entity": "Team"}"#)
        #expect(found.ids == ["Club/1"])
        #expect(try found.firstValues == .of("{\(values)}"))
        try bridge.ask(
            #"{"do": "save", "ops": [{"update": "$x", "set": {"born": "1970-01-01T00:01:00Z"}}]}"#)
        let born = try bridge.ask(
            #"{"do": "fetch", "entity": "Team", "properties": ["born", "players"]}"#)
        #expect(try born.firstValues == .of(#"{"born": 60.0, "players": []}"#))
    }

    @Test func `fetch and count read the past at a position`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let (bridge, other) = (try daemon.first(), try daemon.bridge())
        try other.ask(#"{"do": "count", "entity": "Team", "context": "late"}"#)
        try bridge.ask(
            """
            {"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}},
            {"insert": "Player", "as": "p", "set": {"name": "x", "team": "$t"}}]}
            """)
        try bridge.ask(
            """
            {"do": "save", "ops": [{"update": "$t", "set": {"name": "B"}}, {"delete": "$p"},
            {"insert": "Team", "set": {"name": "A"}}]}
            """)
        let then = try bridge.ask(
            """
            {"do": "fetch", "entity": "Team", "where": "name = 'A'", "at": 2,
            "properties": ["name", "players"]}
            """)
        #expect(then.ids == ["Team/1"] && then["position"] == .int(2))
        #expect(try then.firstValues == .of(#"{"name": "A", "players": ["Player/2"]}"#))
        let now = try bridge.ask(
            #"{"do": "fetch", "entity": "Team", "where": "name = 'A'", "at": 3}"#)
        #expect(now.ids == ["Team/3"] && now["position"] == .int(3))
        for (at, count) in [(1, 0), (2, 1), (3, 2)] {
            let answer = try bridge.ask(#"{"do": "count", "entity": "Team", "at": \#(at)}"#)
            #expect(try answer == .of(#"{"count": \#(count), "position": \#(at)}"#))
        }
        // A context that merges only on request first moves to the position.
        let late = try other.ask(
            #"{"do": "count", "entity": "Team", "context": "late", "at": 2}"#)
        #expect(try late == .of(#"{"count": 1, "position": 2}"#))
        #expect(
            try bridge.refusal(#"{"do": "fetch", "entity": "Team", "at": 0}"#) == "historyExpired")
        #expect(try bridge.finish() == .exited(0))
        #expect(try other.finish() == .exited(0))
    }

    @Test func `save carries out its ops in order, relationships from both ends`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        let saved = try bridge.ask(
            """
            {"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}},
            {"insert": "Player", "as": "p", "set": {"name": "x", "team": "$t"}},
            {"insert": "Player", "as": "q"}, {"insert": "Tag", "as": "g"},
            {"update": "$t", "set": {"wins": 2}, "add": {"players": ["$q"], "tags": ["$g", "$g"]}}]}
            """)
        #expect(
            try saved["objects"]
                == .of(#"{"t":"Team/1","p":"Player/2","q":"Player/3","g":"Tag/4"}"#))
        #expect(saved["position"] == .int(2))
        func lists() throws -> JSON? {
            try bridge.ask(
                #"{"do": "fetch", "entity": "Team", "properties": ["players", "tags", "wins"]}"#
            ).firstValues
        }
        #expect(
            try lists() == .of(#"{"players":["Player/2","Player/3"],"tags":["Tag/4"],"wins":2}"#))
        // Another context, which has loaded no objects.
        try bridge.ask(
            """
            {"do": "save", "context": "w", "ops": [{"insert": "Team", "as": "u", "set": {"name": "B"}},
            {"update": "$u", "remove": {"players": ["$p"]}},
            {"update": "Team/1", "remove": {"players": ["Player/3"], "tags": ["Tag/4"]}}]}
            """)
        #expect(try lists() == .of(#"{"players": ["Player/2"], "tags": [], "wins": 2}"#))
        try bridge.ask(#"{"do": "save", "ops": [{"update": "$t", "set": {"players": ["$q"]}}]}"#)
        #expect(try lists() == .of(#"{"players": ["Player/3"], "tags": [], "wins": 2}"#))
        try bridge.ask(#"{"do": "save", "ops": [{"delete": "$t"}]}"#)
        #expect(try bridge.ask(#"{"do": "fetch", "entity": "Player"}"#).ids == ["Player/2"])
        // An empty save creates no transaction.
        let position = try bridge.ask(#"{"do": "count", "entity": "Team"}"#)["position"]
        #expect(try bridge.ask(#"{"do": "save", "ops": []}"#)["position"] == position)
    }

    @Test func `a save that fails keeps none of its ops`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        try bridge.ask(
            #"{"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}}]}"#)
        for (op, code) in [
            (#"{"update": "$none"}"#, "unknownObject"),
            (#"{"update": "Team/99", "set": {"wins": 1}}"#, "unknownObject"),
            (#"{"delete": "Team/99"}"#, "unknownObject"),
            (#"{"delete": "Player/1"}"#, "unknownObject"),
            (#"{"insert": "Nope"}"#, "unknownEntity"),
            (#"{"insert": "Team", "set": {"x": 1}}"#, "unknownProperty"),
            (#"{"insert": "Team", "set": {"wins": "1"}}"#, "validation"),
            (#"{"update": "$t", "set": {"players": 3}}"#, "usage"),
            (#"{"update": "$t", "add": {"players": ["$t"]}}"#, "usage"),
            (#"{"insert": "Player", "set": {"team": "$lost"}}"#, "usage"),
            (#"{"update": "$t", "add": {"name": ["$t"]}}"#, "usage"),
            (#"{"update": "team", "set": {}}"#, "usage"),
            (#"{"insert": "Team", "with": {}}"#, "usage"),
            (#"{"insert": "Team", "delete": "$t"}"#, "usage"), ("3", "usage"),
            (#"{"insert": "Club", "set": {"name": "A"}}"#, "uniqueness"),
        ] {
            let request = """
                {"do": "save", "ops": [{"update": "$t", "set": {"wins": 7}},
                {"insert": "Tag", "as": "lost"}, \(op)]}
                """
            #expect(try bridge.refusal(request) == code, "\(op)")
            let wins = try bridge.ask(#"{"do": "fetch", "entity": "Team"}"#).firstValues?["wins"]
            #expect(wins == .int(0))
        }
        #expect(
            try bridge.refusal(#"{"do": "save", "ops": [{"update": "$lost"}]}"#) == "unknownObject")
        #expect(try bridge.ask(#"{"do": "count", "entity": "Tag"}"#)["count"] == .int(0))
        #expect(try bridge.ask(#"{"do": "save", "ops": []}"#)["position"] == .int(2))
    }

    @Test func `setting a derived attribute is refused, even together with its source`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.bridge()
        try bridge.ask(
            """
            {"do": "schema", "apply": {"entities": {"Team": {"attributes": {
            "name": {"type": "string"},
            "folded": {"type": "string", "derived": "canonical:(name)"}}}}}}
            """)
        try bridge.ask(
            #"{"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}}]}"#)
        for op in [
            #"{"insert": "Team", "set": {"folded": "abc", "name": "X"}}"#,
            #"{"insert": "Team", "set": {"folded": null}}"#,
            #"{"update": "$t", "set": {"folded": "abc", "name": "X"}}"#,
        ] {
            let error = try bridge.answer(#"{"do": "save", "ops": [\#(op)]}"#)["error"]
            #expect(error?["code"] == .string("validation"), "\(op)")
            let message = try #require(error?["message"]?.string)
            #expect(
                message.contains("the attribute is derived (canonical:(name)) and cannot be set"))
        }
        let teams = try bridge.ask(#"{"do": "fetch", "entity": "Team"}"#)
        #expect(teams.ids == ["Team/1"] && teams.firstValues?["folded"] == .string("a"))
    }

    @Test func `a stale context has a conflict, value by value, and policies resolve it`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let (one, two) = (try daemon.first(), try daemon.bridge())
        try one.ask(
            #"{"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}}]}"#)
        try two.ask(#"{"do": "fetch", "entity": "Team", "context": "w"}"#)
        try one.ask(#"{"do": "save", "ops": [{"update": "$t", "set": {"wins": 1}}]}"#)
        let save =
            #""do": "save", "context": "w", "ops": [{"update": "Team/1", "set": {"wins": 5}}]"#
        let error = try two.answer("{\(save)}")["error"]
        #expect(error?["code"] == .string("conflict"))
        let conflict = try #require(error?["conflicts"]?.array?.first)
        #expect(conflict["object"] == .string("Team/1"))
        let wins = ["base", "ours", "theirs"].map { conflict[$0]?["wins"] }
        #expect(wins == [.int(0), .int(5), .int(1)])
        #expect(try two.refusal(#"{"policy": "none", \#(save)}"#) == "usage")
        try two.ask(#"{"policy": "objectTrump", \#(save)}"#)
        #expect(try one.ask(#"{"do": "fetch", "entity": "Team"}"#).firstValues?["wins"] == .int(5))
        // A context that does not hold the object can't have a stale version of it.
        try two.ask(
            #"{"do": "save", "context": "v", "ops": [{"update": "Team/1", "set": {"wins": 6}}]}"#)
    }

    @Test func `law 3: a retry with its save id returns the first position and ids`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let (one, two) = (try daemon.first(), try daemon.bridge())
        func save(_ name: String) -> String {
            """
            {"do": "save", "saveId": "s", "ops": [{"insert": "Team", "as": "\(name)", "set": {"name": "A"}},
            {"insert": "Player", "as": "p", "set": {"team": "$\(name)"}}]}
            """
        }
        let first = try one.ask(save("t"))
        let change =
            #"{"do": "save", "saveId": "u", "ops": [{"update": "Team/1", "set": {"wins": 4}}]}"#
        let removal = #"{"do": "save", "saveId": "d", "ops": [{"delete": "Player/2"}]}"#
        let (changed, removed) = (try one.ask(change), try one.ask(removal))
        for bridge in [one, two] {
            let again = try bridge.ask(save("again"))
            #expect(again["position"] == first["position"])
            #expect(try again["objects"] == .of(#"{"again": "Team/1", "p": "Player/2"}"#))
            #expect(try bridge.ask(change) == changed)
            #expect(try bridge.ask(removal) == removed)
            try bridge.ask(#"{"do": "save", "ops": [{"update": "$again", "set": {"zone": "z"}}]}"#)
        }
        #expect(try two.refusal(#"{"do": "save", "saveId": "s", "ops": []}"#) == "usage")
        let long = String(repeating: "é", count: 33)
        #expect(try two.refusal(#"{"do": "save", "saveId": "\#(long)", "ops": []}"#) == "usage")
        #expect(try two.ask(#"{"do": "count", "entity": "Team"}"#)["count"] == .int(1))
    }

    @Test func `fetch and count take predicates, arguments, orders and limits`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        let inserts = [("b", 1), ("A", 3), ("c", 2)].map {
            #"{"insert": "Team", "as": "\#($0.0)", "set": {"name": "\#($0.0)", "wins": \#($0.1)}}"#
        }
        try bridge.ask(
            """
            {"do": "save", "ops": [\(inserts.joined(separator: ",")), {"insert": "Club"},
            {"insert": "Player", "set": {"team": "$c"}}]}
            """)
        for (keys, ids) in [
            ("", ["Team/1", "Team/2", "Team/3", "Club/4"]),
            (#","includesSubentities": false, "sort": ["-wins"]"#, ["Team/2", "Team/3", "Team/1"]),
            (#","sort": ["name"], "limit": 2"#, ["Club/4", "Team/2"]),
            (
                #","sort": [{"key": "name", "ascending": false, "selector": "caseInsensitiveCompare:"}], "offset": 1"#,
                ["Team/1", "Team/2", "Club/4"]
            ),
            (
                #","where": "wins > %d AND %K IN %@", "arguments": [1, "name", ["A", "c"]]"#,
                ["Team/2", "Team/3"]
            ),
            (#","where": "SELF == %@", "arguments": [{"object": "$c"}]"#, ["Team/3"]),
            (#","where": "players.@count == 1""#, ["Team/3"]),
        ] {
            #expect(try bridge.ask(#"{"do": "fetch", "entity": "Team" \#(keys)}"#).ids == ids)
            let count = try bridge.ask(#"{"do": "count", "entity": "Team" \#(keys)}"#)["count"]
            #expect(count == .int(Int64(ids.count)), "\(keys)")
        }
    }
}
