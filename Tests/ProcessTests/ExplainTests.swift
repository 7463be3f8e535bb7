import Foundation
import Tandem
import Testing

/// `tandem explain` as run from a shell.
@Suite(.ownThread) struct ExplainTests {
    private static let model = """
        {"entities": {"Team": {"attributes": {"zone": {"type": "string"}, "wins": {"type": "int"}, \
        "code": {"type": "int"}}, "uniqueness": [["code"], ["zone", "wins"]], \
        "relationships": {"players": {"to": "Player", "inverse": "team", "toMany": true}}, \
        "indexes": [["zone", "wins"], ["zone"]]}, \
        "Player": {"attributes": {"goals": {"type": "int"}}, \
        "relationships": {"team": {"to": "Team", "inverse": "players"}}}}}
        """

    @Test @MainActor func `explain shows the plan, the rows and errors`() throws {
        let place = try Place()
        let daemon = try place.serve()
        defer { daemon.end(SIGTERM) }
        let container = PersistentContainer(
            model: try ManagedObjectModel(parsing: Self.model), socket: place.socket,
            author: "seeder")
        let context = container.makeContext(name: "seeds")
        // More than 256 players, so that a reader thread answers.
        for number in 0..<100 {
            let team = try context.insert("Team")
            team["zone"] = .string(number < 3 ? "Africa" : "Europe")
            team["wins"] = .int(Int64(number))
            team["code"] = .int(Int64(number))
            for goals in 0..<3 {
                let player = try context.insert("Player")
                player["goals"] = .int(Int64(goals))
                player.setObject(team, for: "team")
            }
        }
        try context.save()
        func tandem(_ arguments: String...) throws -> CommandRun {
            try CommandRun("tandem", arguments + ["--socket", place.socket])
        }
        let zone = try tandem("explain", "Team", "--where", "zone = 'Africa'", "--sort=-wins")
        #expect(zone.code == 0)
        #expect(
            zone.lines == [
                "rows", "  sorted by -wins", "    Team: index (zone, wins), 1 range",
                "answered at once", "rows read     3", "keys read     3", "rows returned 3",
            ], "\(zone.output)")
        let code = try tandem("explain", "Team", "--where", "code IN {7, 5, 999}")
        #expect(
            code.lines == [
                "rows", "  rows evaluated", "    Team: unique (code), 3 keys", "answered at once",
                "rows read     2", "keys read     3", "rows returned 2",
            ], "\(code.output)")
        let both = try tandem("explain", "Team", "--where", "zone = 'Africa' AND wins = 2")
        #expect(both.lines[2] == "    Team: unique (zone, wins)", "\(both.output)")
        let ordered = try tandem(
            "explain", "Team", "--sort", "-zone", "--limit", "2", "--offset", "1")
        #expect(ordered.lines.first == "rows, limit 2, offset 1", "\(ordered.output)")
        #expect(ordered.lines[1].hasPrefix("  Team: index (zone"), "\(ordered.output)")
        #expect(ordered.lines[1].hasSuffix(", 1 range, in order"), "\(ordered.output)")
        let all = try tandem("explain", "Team")
        #expect(Array(all.lines.prefix(2)) == ["rows", "  Team: scan"], "\(all.output)")
        let sorted = try tandem("explain", "Team", "--sort", "wins")
        #expect(
            Array(sorted.lines.prefix(3)) == ["rows", "  sorted by wins", "    Team: scan"],
            "\(sorted.output)")
        let any = try tandem("explain", "Team", "--where", "zone = 'Africa'")
        #expect(!any.output.contains("in order"), "\(any.output)")
        let union = try tandem("explain", "Team", "--where", "code = 7 OR zone = 'Africa'")
        #expect(
            Array(union.lines.prefix(4)) == [
                "rows", "  rows evaluated", "    Team: union of these 2",
                "      Team: unique (code)",
            ], "\(union.output)")
        #expect(union.lines[4].hasPrefix("      Team: index (zone"), "\(union.output)")
        let related = try tandem("explain", "Player", "--where", "team.zone = 'Africa'")
        #expect(
            Array(related.lines.prefix(3)) == [
                "rows", "  rows evaluated", "    Player: back over team from",
            ], "\(related.output)")
        #expect(related.lines[3].hasPrefix("      Team: index (zone"), "\(related.output)")
        #expect(related.lines[3].hasSuffix(", keys only"), "\(related.output)")
        let players = try tandem(
            "explain", "Player", "--where", "team.zone = 'Africa'", "-o", "json")
        let json = try JSON(parsing: players.output)
        let steps = try #require(json["plan"]?.array)
        #expect(steps.compactMap { $0["access"]?.string } == ["related", "index"])
        #expect(steps.compactMap { $0["depth"]?.int } == [0, 1])
        #expect(steps.compactMap { $0["keysOnly"]?.bool } == [false, true])
        #expect(json["output"]?.string == "rows" && json["atOnce"]?.bool == false)
        #expect(json["returned"]?.int == 9)
        #expect(json["sort"] == .null && json["limit"] == .null && json["offset"]?.int == 0)
        #expect(json["rowsRead"]?.int ?? 100 <= 12)
        let count = try tandem("explain", "Team", "--where", "zone = 'Europe'", "--count")
        #expect(count.lines.contains("rows read     0") && count.lines.contains("counted       97"))
        #expect(count.lines[0] == "count" && count.lines[1].hasSuffix("keys only"))
        let limited = try tandem("explain", "Team", "--count", "--limit", "5")
        #expect(limited.lines[0] == "count, limit 5" && limited.lines.contains("counted       5"))
        let past = try tandem("explain", "Team", "--at", "\(container.end().number)")
        #expect(past.lines.contains("answered by a reader"), "\(past.output)")
        let wrong = try tandem("explain", "Team", "--where", "zone =")
        #expect(wrong.code == 2, "\(wrong.output)")
        #expect(wrong.lines.count == 1)
        #expect(try tandem("explain", "Nobody").code == 2)
        #expect(
            try CommandRun("tandem", ["explain", "Team", "--socket", place.path + "/no"]).code == 3)
    }
}
