import Tandem
import TestSupport
import Testing

/// `tandem insert`, `update` and `delete`, which edit one object from the shell.
@Suite(.ownThread) struct EditTests: StoreSuite {
    let place: Place

    init() throws {
        place = try .serving(
            """
            {"entities": {
                "Team": {"attributes": {"name": {"type": "string", "optional": false},
                        "wins": {"type": "int"}, "founded": {"type": "date"}, "note": {"type": "string"}},
                    "relationships": {"players": {"to": "Player", "toMany": true, "inverse": "team"}},
                    "uniqueness": [["name"]]},
                "Player": {"attributes": {"name": {"type": "string"}},
                    "relationships": {"team": {"to": "Team", "inverse": "players"}}}}}
            """)
    }

    private func values(_ entity: String) throws -> [JSON] {
        try tandem("export", entity).json.map { $0["values"] ?? .null }
    }

    @Test func `values are typed by the model, and links are ids or unique keys`() throws {
        let team = try tandem(
            "insert", "Team", "name=Qatar", "wins=2", "founded=1970-01-01 00:00:05", "note=\"\"")
        #expect(team.code == 0 && team.lines.first?.hasPrefix("Team/") == true, "\(team.output)")
        let id = try #require(team.lines.first)
        let player = try tandem("insert", "Player", "name=Akram", "team=name:Qatar")
        let other = try tandem("insert", "Player", "name=Hassan", "team=\(id)")
        #expect(player.code == 0 && other.code == 0, "\(player.output)\(other.output)")
        let found = try values("Team")
        #expect(found.map { $0["wins"]?.int } == [2] && found[0]["note"] == .string(""))
        #expect(found[0]["founded"]?.number == 5 && found[0]["players"]?.array?.count == 2)
        let gone = try #require(other.lines.first)
        expect(try tandem("update", id, "wins=3", "note=", "players-=\(gone)"), 0, id)
        let changed = try values("Team")
        #expect(changed[0]["wins"]?.int == 3 && changed[0]["note"] == .null)
        #expect(changed[0]["players"]?.array?.count == 1)
        expect(try tandem("update", id, "players+=\(gone)"), 0)
        #expect(try values("Team")[0]["players"]?.array?.count == 2)
        expect(try tandem("update", id, "players="), 0)
        #expect(try values("Team")[0]["players"]?.array?.count == 0)
        expect(try tandem("delete", gone), 0, gone)
        #expect(try tandem("count", "Player").output == "1\n")
        #expect(try tandem("log", "-n", "1").output.contains("tandem delete"))
    }

    @Test func `a new object takes members, given one by one, and each value once`() throws {
        let players = try ["Akram", "Hassan"].map {
            try #require(try tandem("insert", "Player", "name=\($0)").lines.first)
        }
        let team = try tandem(
            "insert", "Team", "name=Qatar", "players+=\(players[0])", "players+=\(players[1])")
        let id = try #require(team.lines.first)
        expect(team, 0, "Team/")
        #expect(try values("Team")[0]["players"]?.array?.count == 2)
        expect(try tandem("insert", "Team", "name=B", "players-=\(players[0])"), 2, "players-=")
        expect(try tandem("insert", "Team", "name=B", "name=C"), 2, "name is set twice")
        expect(try tandem("update", id, "wins=1", "wins=2"), 2, "wins is set twice")
        #expect(try tandem("count", "Team").output == "1\n")
    }

    @Test func `an error names its cause, and nothing is saved`() throws {
        expect(try tandem("insert", "Teem", "name=A"), 2, "no entity `Teem`")
        expect(try tandem("insert", "Team", "nam=A"), 2, "has no property `nam`")
        expect(try tandem("insert", "Team", "name"), 2, "give NAME=VALUE")
        expect(try tandem("insert", "Team", "wins=two"), 2, "wins: a value of type int is required")
        expect(try tandem("insert", "Team", "wins=2"), 1, "name")
        expect(try tandem("insert", "Team", "wins+=2"), 2, "is not a to-many relationship")
        expect(try tandem("insert", "Player", "team=name:Qatar"), 1, "there is no Team")
        expect(try tandem("insert", "Player", "team=Qatar"), 2, "Team/3 or name:VALUE")
        expect(try tandem("insert", "Player", "team=Player/1"), 2, "refers to objects of Team")
        expect(try tandem("update", "Team/99", "wins=2"), 1, "Team/99")
        expect(try tandem("delete", "Team/99"), 1, "Team/99")
        expect(try tandem("delete", "Team"), 2, "Team/3")
        #expect(try tandem("count", "Team").output == "0\n")
        expect(try tandem("insert", "Team", "name=A"), 0)
        expect(try tandem("insert", "Team", "name=A"), 1)
        #expect(try tandem("count", "Team").output == "1\n")
    }

    @Test func `a transaction is reverted by a new save`() throws {
        let team = try #require(try tandem("insert", "Team", "name=Qatar", "wins=2").lines.first)
        let player = try #require(
            try tandem("insert", "Player", "name=Akram", "team=\(team)").lines.first)
        let before = try values("Team")
        expect(try tandem("update", team, "wins=3", "note=x"), 0)
        let update = try position()
        expect(try tandem("revert", update, "--dry-run"), 0, "update \(team)", "nothing was saved")
        #expect(try values("Team")[0]["wins"]?.int == 3)
        expect(try tandem("revert", update), 0, "reverted transaction \(update) by ")
        #expect(try values("Team") == before)
        // A deleted object is restored with its links, under a new id.
        expect(try tandem("delete", team), 0)
        #expect(try values("Player")[0]["team"] == .null)
        expect(try tandem("revert", try position()), 0, "insert Team/", "formerly \(team)")
        let again = try values("Team")
        #expect(again[0]["name"] == before[0]["name"] && again[0]["wins"]?.int == 2)
        #expect(again[0]["players"] == .array([.string(player)]))
        expect(try tandem("insert", "Player", "name=Hassan"), 0)
        expect(try tandem("revert", try position()), 0, "delete Player/")
        #expect(try tandem("count", "Player").output == "1\n")
    }

    @Test func `a later change is a conflict, and nothing is saved`() throws {
        let team = try #require(try tandem("insert", "Team", "name=Qatar", "wins=2").lines.first)
        let inserted = try position()
        expect(try tandem("update", team, "wins=3", "note=x"), 0)
        let update = try position()
        expect(try tandem("update", team, "wins=4"), 0)
        let end = try position()
        expect(
            try tandem("revert", update), 1, "conflict: \(team): wins was changed later",
            "1 conflict; nothing was saved")
        expect(try tandem("revert", inserted), 1, "conflict: \(team) was changed later")
        expect(try tandem("revert", "1"), 1, "installs a model")
        expect(try tandem("revert", "99"), 1, "does not exist yet")
        #expect(try position() == end)
    }

    private func install(_ model: String) throws {
        expect(try tandem("schema", "migrate", try file("next.json", model), "--yes"), 0)
    }

    private static let allOfFans = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string", "optional": false},
                    "wins": {"type": "int"}, "founded": {"type": "date"}, "note": {"type": "string"}},
                "relationships": {"players": {"to": "Player", "toMany": true, "inverse": "team"}},
                "uniqueness": [["name"]]},
            "Player": {"attributes": {"name": {"type": "string"}},
                "relationships": {"team": {"to": "Team", "inverse": "players"}}},
            "Fan": {"attributes": {"name": {"type": "string"}, "note": {"type": "string"}},
            "relationships": {"friends": {"to": "Fan", "toMany": true, "inverse": "friendOf"},
                "friendOf": {"to": "Fan", "toMany": true, "inverse": "friends"}}}}}
        """

    /// Adds fans to the model and inserts two of them.
    private func makeFans() throws -> [String] {
        expect(try tandem("schema", "apply", try file("fans.json", Self.allOfFans)), 0)
        return try ["A", "B"].map {
            try #require(try tandem("insert", "Fan", "name=\($0)").lines.first)
        }
    }

    @Test func `a link that was removed and added later is a conflict`() throws {
        let fans = try makeFans()
        expect(try tandem("update", fans[0], "friends+=\(fans[1])"), 0)
        let added = try position()
        expect(try tandem("update", fans[0], "friends-=\(fans[1])"), 0)
        expect(try tandem("update", fans[0], "friends+=\(fans[1])"), 0)
        let end = try position()
        for words in [[added], [added, "--dry-run"]] {
            let run = try CommandRun(
                "tandem", ["revert"] + words + ["--socket", place.socket])
            expect(
                run, 1,
                "conflict: \(fans[0]): the link from friends to \(fans[1]) was changed later")
            #expect(!run.output.contains("update "))
        }
        #expect(try position() == end)
        // The last transaction has no later changes and can be reverted.
        expect(try tandem("revert", end), 0, "update \(fans[0])", "reverted transaction \(end)")
        #expect(try values("Fan")[0]["friends"]?.array?.count == 0)
    }

    @Test func `a transaction is reverted across later renames in the model`() throws {
        let fans = try makeFans()
        expect(try tandem("update", fans[0], "note=x"), 0)
        let update = try position()
        expect(try tandem("delete", fans[1]), 0)
        let deletion = try position()
        try install(
            Self.allOfFans.replacing(
                #""Fan": {"attributes": {"name": {"type": "string"}, "note": {"type": "string"}}"#,
                with:
                    #""Supporter": {"renamedFrom": "Fan", "attributes": {"name": {"type": "string"}, "remark": {"type": "string", "renamedFrom": "note"}}"#
            ).replacing(#""to": "Fan""#, with: #""to": "Supporter""#))
        expect(try tandem("revert", update), 0, "reverted transaction \(update)")
        #expect(try values("Supporter")[0]["remark"] == .null)
        expect(try tandem("revert", deletion), 0, "insert Supporter/", "formerly \(fans[1])")
        #expect(try values("Supporter").count == 2)
    }

    @Test func `a revert that is refused prints no edit`() throws {
        let team = try #require(try tandem("insert", "Team", "name=Qatar").lines.first)
        expect(try tandem("delete", team), 0)
        let deletion = try position()
        expect(try tandem("insert", "Team", "name=Qatar"), 0)
        let run = try tandem("revert", deletion)
        #expect(run.code == 1 && !run.output.contains("insert Team/"), "\(run.output)")
        #expect(try tandem("count", "Team").output == "1\n")
    }

    /// Returns the position of the last transaction.
    private func position() throws -> String {
        try tandem("log", "-n", "1", "-o", "json").json.first?["position"]?.text ?? "?"
    }
}
