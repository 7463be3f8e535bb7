public import TandemModel

/// A model of leagues, teams and players, with every attribute type and every kind of relationship.
public let sampleModel = ManagedObjectModel {
    Entity("League") {
        Attribute("name", .string)
        Relationship("teams", to: "Team", inverse: "league", toMany: true)
    }
    Entity("Team", uniqueness: [["code"]], indexes: [["wins", "name"]]) {
        Attribute("name", .string)
        Attribute("wins", .int)
        Attribute("rank", .int, default: .int(1), min: -100, max: 100)
        Attribute("rate", .double)
        Attribute("price", .decimal)
        Attribute("founded", .date)
        Attribute("active", .bool)
        Attribute("code", .uuid)
        Attribute("site", .url)
        Attribute("blob", .data)
        Relationship("league", to: "League", inverse: "teams")
        Relationship(
            "players", to: "Player", inverse: "team", toMany: true, deleteRule: .cascade)
        Relationship("tags", to: "Tag", inverse: "teams", toMany: true)
    }
    Entity("ProTeam", parent: "Team") { Attribute("sponsor", .string) }
    Entity("Player") {
        Attribute("name", .string)
        Attribute("goals", .int)
        Relationship("team", to: "Team", inverse: "players")
    }
    Entity("Tag") {
        Attribute("name", .string)
        Relationship("teams", to: "Team", inverse: "tags", toMany: true)
    }
}
