import Foundation
import Tandem
import Testing

/// `tandem explain` as people run it.
@Suite(.ownThread) struct ExplainTests {
    private static let model = """
        {"entities": {"Team": {"attributes": {"zone": {"type": "string"}, "wins": {"type": "int"}, \
        "code": {"type": "int"}}, "uniqueness": [["code"], ["zone", "wins"]], \
        "relationships": {"players": {"to": "Player", "inverse": "team", "toMany": true}}, \
        "indexes": [["zone", "wins"], ["zone"]]}, \
        "Player": {"attributes": {"goals": {"type": "int"}}, \
        "relationships": {"team": {"to": "Team", "inverse": "players"}}}}}
        """

    @Test @MainActor func `explain shows the plan, the rows and what can't be done`() throws {
        let place = try Place()
        let daemon = try DaemonProcess.serving(store: place.store, socket: place.socket)
        defer { daemon.end(SIGTERM) }
        let container = PersistentContainer(
            model: try Model(parsing: Self.model), socket: place.socket, author: "seeder")
        let context = container.makeContext(name: "seeds")
        for number in 0..<60 {
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
                "Team: index (zone, wins), 1 range, answers the predicate, sorted by -wins",
                "rows read     3", "keys read     3", "rows returned 3",
            ], "\(zone.output)")
        let code = try tandem("explain", "Team", "--where", "code IN {7, 5, 99}")
        #expect(
            code.lines == [
                "Team: unique (code), 3 keys", "rows read     2", "keys read     3",
                "rows returned 2",
            ], "\(code.output)")
        let both = try tandem("explain", "Team", "--where", "zone = 'Africa' AND wins = 2")
        #expect(both.lines.first == "Team: unique (zone, wins)", "\(both.output)")
        let ordered = try tandem("explain", "Team", "--sort", "-zone", "--limit", "2")
        #expect(ordered.lines.first?.hasSuffix(", in order") ?? false, "\(ordered.output)")
        #expect(!ordered.output.contains("sorted"), "\(ordered.output)")
        let all = try tandem("explain", "Team")
        #expect(all.lines.first == "Team: scan, no predicate", "\(all.output)")
        let sorted = try tandem("explain", "Team", "--sort", "wins")
        #expect(
            sorted.lines.first == "Team: scan, no predicate, sorted by wins", "\(sorted.output)")
        let any = try tandem("explain", "Team", "--where", "zone = 'Africa'")
        #expect(!any.output.contains("in order"), "\(any.output)")
        let players = try tandem(
            "explain", "Player", "--where", "team.zone = 'Africa'", "-o", "json")
        let json = try JSON(parsing: players.output)
        #expect(json["plan"]?.array?.compactMap { $0["access"]?.string } == ["related", "index"])
        #expect(json["returned"]?.int == 9)
        #expect(json["rowsRead"]?.int ?? 100 <= 12)
        let count = try tandem("explain", "Team", "--where", "zone = 'Europe'", "--count")
        #expect(count.lines.contains("rows read     0") && count.lines.contains("counted       57"))
        let wrong = try tandem("explain", "Team", "--where", "zone =")
        #expect(wrong.code == 2, "\(wrong.output)")
        #expect(wrong.lines.count == 1)
        #expect(try tandem("explain", "Nobody").code == 2)
        #expect(
            try CommandRun("tandem", ["explain", "Team", "--socket", place.path + "/no"]).code == 3)
    }
}
