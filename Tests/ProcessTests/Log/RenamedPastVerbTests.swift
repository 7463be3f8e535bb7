import Foundation
import Tandem
import TandemIO
import Testing

/// `blame`, `show`, `diff` and `history` over renames of entities and properties.
///
/// Everything is found under its current name.
@Suite @MainActor struct RenamedPastVerbTests {
    let story: ModelStory

    init() throws { story = try ModelStory(Self.models) }

    /// `Team` is renamed to `Club` and then `Side`, `wins` to `points` and then `score`, `players`
    /// to `squad`.
    private static let models = [
        """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string"}, "wins": {"type": "int"}},
                "relationships": {"players": {"to": "Player", "toMany": true, "inverse": "team"}}},
            "Player": {"attributes": {"name": {"type": "string"}},
                "relationships": {"team": {"to": "Team", "inverse": "players"}}}}}
        """,
        """
        {"entities": {
            "Club": {"renamedFrom": "Team",
                "attributes": {"name": {"type": "string"}, "a": {"type": "int"},
                    "points": {"type": "int", "renamedFrom": "wins"}},
                "relationships": {"squad":
                    {"to": "Player", "toMany": true, "inverse": "club", "renamedFrom": "players"}}},
            "Player": {"attributes": {"name": {"type": "string"}},
                "relationships": {"club": {"to": "Club", "inverse": "squad", "renamedFrom": "team"}}}}}
        """,
        """
        {"entities": {
            "Side": {"renamedFrom": "Club",
                "attributes": {"name": {"type": "string"}, "a": {"type": "int"},
                    "score": {"type": "int", "renamedFrom": "points"}},
                "relationships": {"squad": {"to": "Player", "toMany": true, "inverse": "club"}}},
            "Player": {"attributes": {"name": {"type": "string"}},
                "relationships": {"club": {"to": "Side", "inverse": "squad"}}}}}
        """,
    ]

    /// Inserts at position 2, sets wins at 3, edits a club at 5, a side at 7, and the player's name
    /// at 8.
    ///
    /// The other positions from 1 to 8 install models.
    private func play() throws {
        let request = { (entity: String) in FetchRequest(entity: entity) }
        try story.edit(0, "first") { context in
            let team = try context.insert("Team")
            team["name"] = .string("Qatar")
            team["wins"] = .int(0)
            let player = try context.insert("Player")
            player["name"] = .string("Maryam")
            player.setObject(team, for: "team")
        }
        try story.edit(0, "wins") { try $0.fetch(request("Team")).first?["wins"] = .int(1) }
        try story.edit(1, "second") { try $0.fetch(request("Club")).first?["a"] = .int(5) }
        try story.edit(2, "third") {
            try $0.fetch(request("Side")).first?["name"] = .string("Doha")
        }
        try story.edit(2, "player") {
            try $0.fetch(request("Player")).first?["name"] = .string("M.")
        }
    }

    /// Runs commands on a daemon and on its directory, expects the same output, and returns the
    /// daemon's runs.
    private func both(_ verbs: [[String]]) throws -> [CommandRun] {
        let (online, offline) = try story.told { source in
            try verbs.map { try CommandRun("tandem", $0 + source) }
        }
        for (one, other) in zip(online, offline) {
            // Only a daemon prints positions with the log that they belong to.
            let cursors = try Regex("([0-9]+)@[0-9]+-[0-9a-f-]+")
            let text = one.output.replacing(cursors) { match in
                match.output[1].substring.map(String.init) ?? ""
            }
            #expect(one.code == other.code && text == other.output)
        }
        return online
    }

    @Test func `changes under an earlier name are found, and shown under the current one`() throws {
        try play()
        let runs = try both([
            ["blame", "Side/1", "-o", "json"], ["blame", "Side/1", "score"],
            ["show", "Side/1", "-o", "json"], ["show", "Side/1", "--at", "3"],
            ["diff", "1", "-o", "json"], ["diff", "2", "7", "-o", "json"], ["diff", "2", "3"],
            ["diff", "2", "-E", "Side"], ["history", "Side/1", "-o", "short", "--utc"],
            ["log", "show", "8"], ["blame", "Side/1", "wins"], ["show", "Team/1"],
        ])
        let positions = runs[0].json.map { ($0["property"]?.string ?? "", $0["position"]?.int) }
        #expect(
            Dictionary(uniqueKeysWithValues: positions)
                == ["name": 7, "a": 5, "score": 3, "squad": 2], "\(runs[0].output)")
        #expect(runs[1].lines.count == 1 && runs[1].output.hasPrefix("3  "), "\(runs[1].output)")
        let values = try #require(runs[2].json.first?["values"], "\(runs[2].output)")
        #expect(
            values
                == .object([
                    "name": .string("Doha"), "score": .int(1), "a": .int(5),
                    "squad": .array([.string("Player/2")]),
                ]))
        #expect(
            runs[3].lines == [
                "Side/1 as of 3", "    name  \"Qatar\"", "    score 1",
                "    squad Player/2 \"Maryam\"",
            ], "\(runs[3].output)")
        expectNet(runs[4], runs[5])
        #expect(runs[6].lines == ["update Side/1", "    score 0 → 1"], "\(runs[6].output)")
        #expect(runs[7].lines.first == "update Side/1", "\(runs[7].output)")
        #expect(runs[8].lines.count == 4 && runs[8].lines[1].hasSuffix("update Team/1 wins 0→1"))
        #expect(runs[9].output.contains("M."))
        #expect(runs[10].code == 2 && runs[10].output.contains("no property `wins`"))
        #expect(runs[11].code == 2 && runs[11].output.contains("no entity `Team`"))
    }

    /// Expects each object and each property once, although they had three names.
    private func expectNet(_ all: CommandRun, _ part: CommandRun) {
        let made = all.json.first { $0["object"]?.string == "Side/1" }
        #expect(all.json.map { $0["type"]?.string } == ["insert", "insert"], "\(all.output)")
        #expect(
            made?["after"]
                == .object(["name": .string("Doha"), "score": .int(1), "a": .int(5)]),
            "\(all.output)")
        #expect(
            all.json.first { $0["object"]?.string == "Player/2" }?["after"]
                == .object(["name": .string("M."), "club": .string("Side/1")]))
        #expect(part.json.map { $0["object"]?.string } == ["Side/1"], "\(part.output)")
        #expect(
            part.json.first?["before"]
                == .object(["name": .string("Qatar"), "score": .int(0), "a": .null]))
        #expect(part.json.first?["links"] == .array([]))
    }
}
