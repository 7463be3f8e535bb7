import FoundationEssentials
import Tandem

// An app's model, declared by the macros.

enum Level: Int, CaseIterable, AttributeConvertible { case low, high }

struct Ground: CodableAttribute, Equatable {
    var town = ""
    var seats = 0
    static let zero = Ground()
}

@Model
final class Team: ManagedObject {
    #Index<Team>([\.zone, \.wins])
    #Unique<Team>([\.nickname, \.zone])
    @Attribute(.unique) var name: String
    @Attribute("zone_name", .indexed, renamedFrom: "region") var zone: String = "Europe"
    @Attribute(min: 0, max: 7) var wins: Int = 0
    var nickname: String?
    var level: Level = .high
    var home: Ground?
    var founded: Date?
    var site: URL? = URL(string: "https://tandem.example")
    @Attribute(derived: .count("players")) var playerCount: Int
    @Relationship(inverse: \.team, deleteRule: .cascade) var players: Set<Player>
    @Relationship(inverse: \.captainOf) var captain: Player?
    @Transient var isExpanded = false
    var title: String { "\(name), \(zone)" }
}

@Model
class Person: ManagedObject {
    var name: String
}

@Model("Player", parent: Person.self)
class Player: Person {
    var number: Int = 0
    @Relationship(inverse: \.players) var team: Team?
    @Relationship(inverse: \.captain) var captainOf: Team?
}

@Model(parent: Player.self)
final class Goalkeeper: Player {
    #Index<Goalkeeper>([\.number, \.saves])
    var saves: Int = 1
}

/// The class of the same entity as ``Team``, declared by hand.
final class HandwrittenTeam: ManagedObject, ManagedEntity {
    static var entity: Entity {
        Entity(
            "Team", uniqueness: [["name"], ["nickname", "zone_name"]],
            indexes: [["zone_name"], ["zone_name", "wins"]]
        ) {
            Attribute("name", .string, optional: false)
            Attribute(
                "zone_name", .string, optional: false, default: .string("Europe"),
                renamedFrom: "region")
            Attribute("wins", .int, optional: false, default: .int(0), min: 0, max: 7)
            Attribute("nickname", .string)
            Attribute("level", .int, optional: false, default: .int(1))
            Attribute("home", .string)
            Attribute("founded", .date)
            Attribute("site", .url, default: .url("https://tandem.example"))
            Attribute("playerCount", .int, optional: false, derived: .count("players"))
            Relationship(
                "players", to: "Player", inverse: "team", toMany: true, deleteRule: .cascade)
            Relationship("captain", to: "Player", inverse: "captainOf")
        }
    }
}

/// An actor with a context of its own that saves.
@ContextActor(name: "scores")
actor Scorer {
    func win(_ id: TypedID<Team>) async throws -> Int {
        let team = try await context.existingObject(with: id)
        team.wins += 1
        try await context.save()
        return team.wins
    }

    /// The number of teams that the context shows.
    func count() async throws -> Int { try await context.count(for: FetchRequest<Team>()) }
}

/// An actor whose context follows the saves of others.
@ContextActor(mergesAutomatically: true)
actor Follower {
    /// Returns the wins of a team after another context saved a change of it.
    func nextWins(of id: TypedID<Team>, after began: @Sendable () async throws -> Void) async throws
        -> Int
    {
        let saves = context.saves(of: "Team")
        let before = try await context.existingObject(with: id).wins
        try await began()
        for try await _ in saves {
            let wins = try await context.existingObject(with: id).wins
            if wins != before { return wins }
        }
        return -1
    }
}
