import Foundation
import Tandem

/// The World Cup of 2022: its teams and matches.
struct Tournament {
    /// A team before its first match.
    struct Entrant {
        var name: String
        var zone: String
        var group: String
        var imageName: String
    }

    /// A match; the winner may be determined by penalties, and is nil after a draw.
    struct Match {
        var date: String
        var stage: String
        var home: String
        var away: String
        var score: String
        var winner: String?

        /// The match as one line.
        var line: String {
            "\(date) \(stage): \(home) \(score) \(away)" + (winner.map { ", won by \($0)" } ?? "")
        }
    }

    var entrants: [Entrant] = []
    var matches: [Match] = []

    /// Reads the data that is bundled with the program.
    init() throws {
        guard let url = Bundle.module.url(forResource: "worldcup-2022", withExtension: "json")
        else {
            throw TandemError(
                .storage, "worldcup-2022.json is missing from the program's resources")
        }
        let json = try JSON(parsing: Data(contentsOf: url))
        entrants = try Self.list(json, "teams", Self.entrant)
        matches = try Self.list(json, "matches", Self.match)
    }

    private static func list<Item>(
        _ json: JSON, _ key: String, _ item: (JSON) -> Item?
    ) throws -> [Item] {
        try (json[key]?.array ?? []).enumerated().map { index, json in
            guard let item = item(json) else {
                throw TandemError(.storage, "worldcup-2022.json: \(key)[\(index)] is incomplete")
            }
            return item
        }
    }

    private static func entrant(_ json: JSON) -> Entrant? {
        guard let name = json["teamName"]?.string, let zone = json["qualifyingZone"]?.string,
            let group = json["group"]?.string, let image = json["imageName"]?.string
        else { return nil }
        return Entrant(name: name, zone: zone, group: group, imageName: image)
    }

    private static func match(_ json: JSON) -> Match? {
        guard let date = json["date"]?.string, let stage = json["stage"]?.string,
            let home = json["home"]?.string, let away = json["away"]?.string,
            let homeGoals = json["homeGoals"]?.int, let awayGoals = json["awayGoals"]?.int
        else { return nil }
        let penalties = json["penalties"]?.bool == true ? " after penalties" : ""
        return Match(
            date: date, stage: stage, home: home, away: away,
            score: "\(homeGoals)–\(awayGoals)\(penalties)", winner: json["winner"]?.string)
    }
}
