import FoundationEssentials
import Tandem
import TandemEmbedded
import Testing

/// A program whose classes are declared by the macros, with a daemon in the same process.
@MainActor struct AppTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext

    init() throws {
        container = try .inMemory(entities: [Team.self, Person.self, Player.self, Goalkeeper.self])
        context = container.viewContext
    }

    private func team(_ name: String, _ nickname: String? = nil) throws -> Team {
        let team = try context.insert(Team.self)
        (team.name, team.nickname) = (name, nickname)
        return team
    }

    @Test func `the entity equals the handwritten one`() {
        #expect(Team.entity == HandwrittenTeam.entity)
        #expect(Player.entity.parent == "Person")
        #expect(Goalkeeper.entity.parent == "Player")
        let handwritten = Entity(
            "Goalkeeper", parent: "Player", indexes: [["number", "saves"]]
        ) { Attribute("saves", .int, optional: false, default: .int(1)) }
        #expect(Goalkeeper.entity == handwritten)
        #expect((Goalkeeper.self as Person.Type).entity.name == "Goalkeeper")
    }

    @Test func `a new object has the declared defaults`() throws {
        let mali = try team("Mali")
        #expect((mali.zone, mali.wins, mali.level) == ("Europe", 0, .high))
        #expect((mali.nickname, mali.home, mali.founded) == (nil, nil, nil))
        #expect(mali.site == URL(string: "https://tandem.example"))
        #expect(!mali.isExpanded)
        try context.save()
        #expect(try context.insert(Goalkeeper.self).saves == 1)
    }

    @Test func `objects are saved and fetched by key paths`() throws {
        let (mali, togo) = (try team("Mali"), try team("Togo"))
        (mali.zone, mali.wins, mali.level) = ("Africa", 3, .low)
        mali.home = Ground(town: "Bamako", seats: 50_000)
        mali.founded = Date(timeIntervalSince1970: 60)
        (togo.zone, togo.wins) = ("Africa", 1)
        try context.save()
        #expect(mali.title == "Mali, Africa")
        let reader = container.makeContext(name: "reader")
        let home = Ground(town: "Bamako", seats: 50_000)
        let strong = try reader.fetch(Team.self, where: \.wins > 1 && \.zone == "Africa")
        #expect(strong.map(\.name) == ["Mali"])
        #expect(strong.first?.founded == Date(timeIntervalSince1970: 60))
        #expect(strong.first?.home == home)
        let low = try reader.fetch(Team.self, where: \.level == .low)
        #expect(low.map(\.name) == ["Mali"])
        #expect(try reader.fetch(Team.self, where: \.home == home).map(\.name) == ["Mali"])
        let text = try reader.fetch(Team.self, where: .text("zone_name = %@", "Africa"))
        #expect(Set(text.map(\.name)) == ["Mali", "Togo"])
        let sorted = try reader.fetch(Team.self, sort: [.descending(\.wins)])
        #expect(sorted.map(\.name) == ["Mali", "Togo"])
    }

    @Test func `values read macro-declared properties in place`() throws {
        let mali = try team("Mali")
        let player = try context.insert(Player.self)
        player.name = "Awa"
        mali.captain = player
        try context.save()
        let rows = try context.fetchValues(Row.self, for: FetchRequest<Team>())
        #expect(rows.map(\.name) == ["Mali"])
        #expect(rows.first?.level == .high)
        #expect(rows.first?.captain == "Awa")
    }

    @Test func `relationships keep their inverses and their delete rule`() throws {
        let mali = try team("Mali")
        let (awa, keeper) = (
            try context.insert(Player.self), try context.insert(Goalkeeper.self)
        )
        (awa.name, keeper.name, keeper.number) = ("Awa", "Bintou", 1)
        awa.team = mali
        mali.players.insert(keeper)
        mali.captain = keeper
        #expect(mali.players == [awa, keeper])
        #expect(keeper.team === mali)
        #expect(keeper.captainOf === mali)
        try context.save()
        #expect(mali.playerCount == 2)
        let byTeam = try context.fetch(Player.self, where: \.team?.name == "Mali")
        #expect(Set(byTeam.map(\.name)) == ["Awa", "Bintou"])
        context.delete(mali)
        try context.save()
        #expect(try context.count(for: FetchRequest<Person>()) == 0)
    }

    @Test func `a second object with the same unique values is refused`() throws {
        _ = try team("Mali", "Eagles")
        try context.save()
        _ = try team("Mali")
        #expect(throws: TandemError.self) { try context.save() }
        context.rollback()
        _ = try team("Togo", "Eagles")
        #expect(throws: TandemError.self) { try context.save() }
        context.rollback()
        _ = try team("Togo", "Hawks")
        try context.save()
        #expect(try context.count(for: FetchRequest<Team>()) == 2)
    }

    @Test func `values outside the declared limits are refused`() throws {
        let mali = try team("Mali")
        mali.wins = 8
        #expect(throws: TandemError.self) { try context.save() }
        mali.wins = 7
        try context.save()
    }

    @Test func `an actor with a context of its own saves`() async throws {
        let mali = try team("Mali")
        try await context.save()
        let scorer = Scorer(container: container)
        #expect(scorer.container === container)
        #expect(try await scorer.win(mali.typedID) == 1)
        #expect(try await scorer.win(mali.typedID) == 2)
        #expect(try await scorer.count() == 1)
    }

    @Test func `an actor whose context merges follows the saves of others`() async throws {
        let mali = try team("Mali")
        try await context.save()
        let (id, scorer) = (mali.typedID, Scorer(container: container))
        let follower = Follower(container: container)
        let wins = try await follower.nextWins(of: id) { _ = try await scorer.win(id) }
        #expect(wins == 1)
    }
}

/// A value of a team.
private struct Row: ObjectValue {
    let name: String
    let level: Level
    let captain: String?
    init(_ team: RowReader<Team>) {
        (name, level, captain) = (team.name, team.level, team.captain?.name)
    }
}
