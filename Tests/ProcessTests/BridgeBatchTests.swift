import Glibc
import TandemIO
import TandemModel
import Testing

/// The bridge's verb `batch`.
@Suite(.ownThread, .serialized) struct BridgeBatchTests {
    @Test func `batch inserts, updates and deletes, and lists are updated before the answer`()
        throws
    {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let (bridge, other) = (try daemon.first(), try daemon.bridge())
        try bridge.ask(
            #"{"do": "open", "controller": "c", "entity": "Team", "sort": ["name"], "sections": "zone"}"#
        )
        let inserted = try bridge.ask(
            """
            {"do": "batch", "insert": "Team", "rows": [{"name": "A", "zone": "x", "wins": 1},
            {"name": "B", "zone": "x", "born": "1970-01-01T00:01:00Z", "logo": "AAEC"}, {"name": "C"}]}
            """)
        #expect(inserted == (try .of(#"{"position": 2, "count": 3}"#)))
        #expect(bridge.drainEvents().map { $0["objects"]?.array?.count } == [3])
        let updated = try bridge.ask(
            """
            {"do": "batch", "update": "Team", "where": "zone = %@", "arguments": ["x"],
            "set": {"zone": "y", "wins": 7, "rate": null}}
            """)
        #expect(updated == (try .of(#"{"position": 3, "count": 2}"#)))
        #expect(bridge.drainEvents().map { $0["position"] } == [.int(3)])
        let deleted = try bridge.ask(#"{"do": "batch", "delete": "Team", "where": "wins > 5"}"#)
        #expect(deleted == (try .of(#"{"position": 4, "count": 2}"#)))
        #expect(
            try bridge.ask(#"{"do": "sections", "controller": "c"}"#)["sections"]?.array?.count == 1
        )
        #expect(try other.ask(#"{"do": "fetch", "entity": "Team"}"#).ids == ["Team/3"])
        // The batch has nothing left to do.
        #expect(
            try bridge.ask(#"{"do": "batch", "delete": "Team", "where": "wins > 5"}"#)
                == (try .of(#"{"position": 4, "count": 0}"#)))
        #expect(try bridge.ask(#"{"do": "batch", "delete": "Team"}"#)["count"] == .int(1))
        #expect(try bridge.finish() == .exited(0))
        #expect(try other.finish() == .exited(0))
    }

    @Test func `batch takes relationships and aliases, and merges into a context on request`()
        throws
    {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        try bridge.ask(
            #"{"do": "save", "ops": [{"insert": "Team", "as": "t"}, {"insert": "Tag", "as": "g"}]}"#
        )
        let answer = try bridge.ask(
            """
            {"do": "batch", "insert": "Player", "context": "w",
            "rows": [{"name": "p", "team": "$t"}, {"name": "q", "team": null}]}
            """)
        #expect(answer["count"] == .int(2))
        try bridge.ask(
            #"{"do": "batch", "insert": "Team", "rows": [{"name": "u", "tags": ["$g"]}]}"#)
        let tags = try bridge.ask(
            #"{"do": "fetch", "entity": "Team", "where": "name = 'u'", "properties": ["tags"]}"#)
        #expect(try tags.firstValues == .of(#"{"tags": ["Tag/2"]}"#))
        try bridge.ask(
            #"{"do": "batch", "update": "Player", "where": "team = nil", "set": {"team": "$t"}}"#)
        let players = try bridge.ask(
            #"{"do": "fetch", "entity": "Team", "where": "name = nil", "properties": ["players"]}"#)
        #expect(players.firstValues?["players"]?.array?.count == 2)
        // The cascade deletes the players at the other end.
        #expect(
            try bridge.ask(#"{"do": "batch", "delete": "Team", "where": "name = nil"}"#)["count"]
                == .int(1))
        #expect(try bridge.ask(#"{"do": "count", "entity": "Player"}"#)["count"] == .int(0))
        #expect(try bridge.finish() == .exited(0))
    }

    @Test func `an impossible batch is refused, with the number of rows done`() throws {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let bridge = try daemon.first()
        let refused = [
            (#"{"do": "batch"}"#, "usage"),
            (#"{"do": "batch", "update": "Team", "delete": "Team"}"#, "usage"),
            (#"{"do": "batch", "update": "Team"}"#, "usage"),
            (#"{"do": "batch", "insert": "Team", "rows": [], "where": "wins = 1"}"#, "usage"),
            (#"{"do": "batch", "delete": "Team", "set": {}}"#, "usage"),
            (#"{"do": "batch", "insert": "Team", "rows": [3]}"#, "usage"),
            (#"{"do": "batch", "delete": "No"}"#, "unknownEntity"),
            (#"{"do": "batch", "insert": "No", "rows": [{}]}"#, "unknownEntity"),
            (#"{"do": "batch", "update": "Team", "set": {"no": 1}}"#, "unknownProperty"),
            (#"{"do": "batch", "update": "Team", "set": {"wins": "x"}}"#, "validation"),
            (#"{"do": "batch", "update": "Team", "set": {"players": ["Player/1"]}}"#, "usage"),
            (#"{"do": "batch", "delete": "Team", "where": "wins ="}"#, "invalidPredicate"),
            (
                #"{"do": "batch", "insert": "Player", "rows": [{"team": "Team/9"}]}"#,
                "unknownObject"
            ),
        ]
        for (request, code) in refused {
            #expect(try bridge.refusal(request) == code, "\(request)")
        }
        #expect(try bridge.ask(#"{"do": "count", "entity": "Team"}"#)["count"] == .int(0))
        let rows = (0..<1_500).map { #"{"name": "n\#($0 == 1_499 ? 1_498 : $0)"}"# }
        try bridge.ask(#"{"do": "open", "controller": "c", "entity": "Team", "sort": ["name"]}"#)
        _ = bridge.drainEvents()
        let error = try bridge.answer(
            #"{"do": "batch", "context": "w", "insert": "Team", "rows": [\#(rows.joined(separator: ","))]}"#
        )["error"]
        // The error names a position, so the changes up to it are reported before the error.
        #expect(bridge.drainEvents().last?["position"] == error?["position"])
        #expect(error?["code"] == .string("uniqueness"))
        // The count is that of all rows before the one that can't be inserted; the message names
        // that row.
        #expect(error?["count"] == .int(1_499))
        #expect(error?["message"]?.string?.hasPrefix("row 1499: ") == true)
        #expect(try bridge.ask(#"{"do": "count", "entity": "Team"}"#)["count"] == .int(1_499))
        #expect(try bridge.finish() == .exited(0))
    }
}
