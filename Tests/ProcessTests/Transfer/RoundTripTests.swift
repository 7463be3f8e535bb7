import Foundation
import Tandem
import TandemIO
import TestSupport
import Testing

/// The output of `tandem export` as the input of `tandem import`, for any values and names of
/// properties.
@Suite(.ownThread) struct RoundTripTests: StoreSuite {
    let place: Place

    init() throws { place = try .serving() }

    private static let model = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string"}, "id": {"type": "int"},
                    "entity": {"type": "string"}, "rate": {"type": "double"}},
                "relationships": {"players": {"to": "Player", "toMany": true, "inverse": "team"},
                    "captain": {"to": "Player", "inverse": "captainOf"},
                    "friends": {"to": "Player", "toMany": true, "inverse": "likes"}}},
            "Player": {"attributes": {"name": {"type": "string"}},
                "relationships": {"team": {"to": "Team", "inverse": "players"},
                    "captainOf": {"to": "Team", "inverse": "captain"},
                    "likes": {"to": "Team", "toMany": true, "inverse": "friends"}},
                "uniqueness": [["name"]]}}}
        """

    @MainActor private func seed() throws {
        try place.seed(Self.model) { context in
            let player = try context.insert("Player")
            player["name"] = .string("Mané")
            for (number, rate) in [-0.0, .infinity, -.infinity, 0.1].enumerated() {
                let team = try context.insert("Team")
                team["name"] = .string("team \(number)")
                team["id"] = .int(Int64(number))
                team["entity"] = .string("Player")
                team["rate"] = .double(rate)
                if number > 0 { continue }
                player.setObject(team, for: "team")
                player.setObject(team, for: "captainOf")
                team.add(player, to: "friends")
            }
            try context.save()
        }
    }

    private func rates() throws -> [String] {
        try tandem("export", "Team").json.map { $0["values"]?["rate"]?.text ?? "?" }
    }

    @Test(arguments: ["ndjson", "csv"]) @MainActor
    func `values and names are imported again, and members stay with their owners`(format: String)
        throws
    {
        try seed()
        let path = place.path + "/teams." + format
        let out = try tandem("export", "Team", "-o", format).output
        try out.write(toFile: path, atomically: true, encoding: .utf8)
        let run = try tandem("import", path, "--entity", "Team")
        #expect(run.code == 0, "\(run.output)")
        let rates = try rates()
        #expect(rates == ["-0.0", #""Infinity""#, #""-Infinity""#, "0.1"] + rates.prefix(4))
        let teams = try tandem("fetch", "Team", "--sort", "id", "-o", "json").json
        #expect(teams.map { $0["values"]?["id"]?.int } == [0, 0, 1, 1, 2, 2, 3, 3])
        #expect(teams.allSatisfy { $0["values"]?["entity"]?.string == "Player" })
        // The player stays in its team; the copy gets only links that may belong to several teams.
        let exported = try tandem("export", "Team").json
        #expect(
            exported.map { $0["values"]?["players"]?.array?.count } == [1]
                + Array(repeating: 0, count: 7))
        #expect(
            exported.map { $0["values"]?["captain"] == .null } == [false]
                + Array(repeating: true, count: 7))
        #expect(
            exported.map { $0["values"]?["friends"]?.array?.count } == [1, 0, 0, 0, 1, 0, 0, 0])
    }

    /// Checks that all verbs print the text that `import` reads, because JSON has no infinite
    /// numbers.
    @Test @MainActor func `an infinite number is the same text wherever it is printed`() throws {
        try seed()
        let (most, least) = (JSON.string("Infinity"), JSON.string("-Infinity"))
        let objects = try tandem("fetch", "Team", "--sort", "id", "-o", "json").json
        #expect(
            objects.map { $0["values"]?["rate"] } == [.double(-0.0), most, least, .double(0.1)])
        let values = try tandem("fetch", "Team", "--select", "rate", "--sort", "id", "-o", "json")
        #expect(values.json.map { $0["rate"] } == [.double(-0.0), most, least, .double(0.1)])
        let lines = try tandem("fetch", "Team", "--where", "id = 2").output
        #expect(lines.contains("rate=-Infinity"), "\(lines)")
        let id = try #require(objects[1]["id"]?.string)
        let shown = try tandem("show", id, "-o", "json")
        #expect(shown.json.first?["values"]?["rate"] == most, "\(shown.output)")
        let log = try tandem("log", "-O", id, "-o", "json")
        #expect(log.output.contains(#""rate":"Infinity""#), "\(log.output)")
        let both = try tandem("fetch", "Team", "--select", "@min.rate,@max.rate", "-o", "json")
        #expect(
            both.json == [.object(["@min.rate": least, "@max.rate": most])], "\(both.output)")
        let rows = try file("rows.ndjson", "{\"rate\": \"NaN\"}\n{\"rate\": \"inf\"}\n")
        let run = try tandem("import", rows, "--entity", "Team")
        #expect(run.code == 1 && run.output.contains("2 rows were rejected"), "\(run.output)")
    }

    @Test @MainActor func `a full disk is reported`() throws {
        try seed()
        let program = DaemonProcess.products + "/tandem"
        for verb in ["export Team", "log", "fetch Team", "status"] {
            let run = try CommandRun(
                path: "/bin/sh",
                ["-c", "'\(program)' \(verb) --socket '\(place.socket)' 2>&1 >/dev/full"])
            #expect(run.code == 1, "\(verb)")
            let reason = "cannot write standard output: No space left on device"
            #expect(run.output.contains("tandem: " + reason))
        }
        // A reader that closes the pipe early causes no error.
        let line = "'\(program)' log -f --socket '\(place.socket)' | head -n 1 >/dev/null"
        #expect(try CommandRun(path: "/bin/bash", ["-o", "pipefail", "-c", line]).code == 0)
    }
}
