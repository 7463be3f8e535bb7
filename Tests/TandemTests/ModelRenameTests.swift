import TandemModel
import Testing

@testable import Tandem

/// Pending edits when another model is installed that renames or removes their properties.
///
/// The app declares nothing, so only the context checks whether the edits still fit.
@MainActor @Suite struct ModelRenameTests {
    private let fixture: Fixture
    private let installer: PersistentContainer
    private let context: ManagedObjectContext

    private static let first = ManagedObjectModel {
        Entity("Team") {
            Attribute("goals", .int, default: .int(0))
            Attribute("name", .string)
            Attribute("wins", .int, default: .int(0))
            Relationship("players", to: "Player", inverse: "team", toMany: true)
        }
        Entity("Player") {
            Attribute("name", .string)
            Attribute("shirt", .int)
            Relationship("team", to: "Team", inverse: "players")
        }
    }

    /// Slots 1 and 2 are swapped by this model.
    private static let renamed = ManagedObjectModel {
        Entity("Club", renamedFrom: "Team") {
            Attribute("attempts", .int, default: .int(0), renamedFrom: "wins")
            Attribute("goals", .int, default: .int(0))
            Attribute("name", .string)
            Relationship(
                "squad", to: "Player", inverse: "team", toMany: true, renamedFrom: "players")
        }
        Entity("Player") {
            Attribute("name", .string)
            Attribute("shirt", .int)
            Relationship("team", to: "Club", inverse: "squad")
        }
    }

    private static let playersAlone = ManagedObjectModel {
        Entity("Player") {
            Attribute("name", .string)
            Attribute("shirt", .int)
        }
    }

    private static let withoutWins = ManagedObjectModel {
        Entity("Team") {
            Attribute("level", .int, optional: false, default: .int(1))
            Attribute("name", .string)
        }
    }

    init() throws {
        fixture = try Fixture([])
        installer = PersistentContainer(author: "installer", transport: fixture.transport)
        try installer.install(Self.first)
        context = Self.container(fixture).makeContext(name: "plain")
    }

    private static func container(_ fixture: Fixture) -> PersistentContainer {
        PersistentContainer(author: "plain", transport: fixture.transport)
    }

    private func team(_ name: String) throws -> ManagedObject {
        let team = try context.insert("Team")
        team["name"] = .string(name)
        return team
    }

    /// Returns the stored objects as another process sees them.
    private func stored(_ entity: String) throws -> [ManagedObject] {
        let other = Self.container(fixture).makeContext(name: "reader")
        return try other.fetch(FetchRequest(entity: entity, sort: ["name"]))
    }

    /// Returns the error of the save that reports dropped edits; it is thrown once.
    private func refusal() throws -> TandemError {
        let error = try #require(throws: TandemError.self) { try context.save() }
        #expect(error.code == .schemaMismatch)
        #expect(error.message.contains("the changed model, version"))
        return error
    }

    @Test func `law 3: pending edits are saved under the current names`()
        throws
    {
        let old = try team("a")
        try context.save()
        old["wins"] = .int(5)
        let new = try team("b")
        new["wins"] = .int(3)
        let player = try context.insert("Player")
        player.setObject(old, for: "team")
        try context.reach(try installer.install(Self.renamed))
        #expect(old.entityName == "Club" && context.updatedObjects.contains(old))
        #expect(old["attempts"] == .int(5) && old["goals"] == .int(0))
        #expect(old.objects("squad") == [player])
        try context.save()
        #expect(!context.hasChanges)
        let clubs = try stored("Club")
        #expect(clubs.map { $0["attempts"] } == [.int(5), .int(3)])
        #expect(clubs.map { $0["goals"] } == [.int(0), .int(0)])
        #expect(try stored("Player").map { $0["team"].reference?.number } == [old.id.number])
    }

    @Test func `law 3: a child's edits are saved into the intended properties`() throws {
        let old = try team("a")
        try context.save()
        let child = context.makeChild(name: "child")
        let twin = try child.existingObject(with: old.id)
        twin["wins"] = .int(5)
        try context.reach(try installer.install(Self.renamed))
        #expect(twin["attempts"] == .int(5) && twin["goals"] == .int(0))
        try child.save()
        #expect(old["attempts"] == .int(5))
        try context.save()
        #expect(try stored("Club").map { $0["attempts"] } == [.int(5)])
    }

    @Test func `law 8: a save reports edits whose entity was removed, then others are saved`()
        throws
    {
        let team = try team("a")
        let player = try context.insert("Player")
        player["name"] = .string("p")
        player.setObject(team, for: "team")
        let model = try installer.install(Self.playersAlone)
        try context.reach(model)
        #expect(team.isDeleted && context.insertedObjects == [player] && context.hasChanges)
        #expect(try refusal().message.contains("Player.team, Team do not exist in"))
        #expect(try context.save().number == model.number + 1)
        #expect(!context.hasChanges)
        #expect(try stored("Player").map { $0["name"] } == [.string("p")])
    }

    @Test func `law 8: a save reports edits whose property was removed, but no defaults`() throws {
        let team = try team("a")
        team["wins"] = .int(5)
        try context.reach(try installer.install(Self.withoutWins))
        #expect(team["name"] == .string("a"))
        let message = try refusal().message
        #expect(message.contains("Team.wins does not exist in") && !message.contains("goals"))
        try context.save()
        #expect(try stored("Team").map { $0["name"] } == [.string("a")])
    }

    @Test func `new objects get the defaults of new properties`() throws {
        let team = try team("a")
        try context.reach(try installer.install(Self.withoutWins))
        #expect(team["level"] == .int(1))
        try context.save()
        #expect(try stored("Team").map { $0["level"] } == [.int(1)])
    }

    @Test func `if no edits remain, the dropped ones are still reported, until rollback`() throws {
        let old = try team("a")
        try context.save()
        old["wins"] = .int(5)
        try context.reach(try installer.migrate(to: Self.withoutWins).position)
        #expect(context.updatedObjects.isEmpty && context.hasChanges)
        context.rollback()
        #expect(!context.hasChanges)
        try context.save()
        old["name"] = .string("b")
        #expect(context.updatedObjects == [old])
        try context.save()
        #expect(try stored("Team").map { $0["name"] } == [.string("b")])
    }

    @Test func `a deletion of an object whose entity was removed is not reported as lost`() throws {
        let old = try team("a")
        try context.save()
        context.delete(old)
        let model = try installer.migrate(to: Self.playersAlone).position
        try context.reach(model)
        #expect(old.isDeleted && !context.hasChanges)
        #expect(try context.save() == model)
    }

    @Test func `law 8: in-flight edits that the new model lacks are reported by the next save`()
        throws
    {
        var limits = ClientLimits()
        limits.modelAttempts = 1
        let container = PersistentContainer(transport: fixture.transport, limits: limits)
        let context = container.makeContext(name: "impatient")
        let team = try context.insert("Team")
        team["wins"] = .int(5)
        try installer.install(Self.withoutWins)
        let first = try #require(throws: TandemError.self) { try context.save() }
        #expect(first.code == .schemaMismatch && !first.message.contains("wins"))
        let second = try #require(throws: TandemError.self) { try context.save() }
        #expect(
            second.code == .schemaMismatch && second.message.contains("Team.wins does not exist in")
        )
        try context.save()
        #expect(try stored("Team").count == 1)
    }

    @Test func `law 8: a save reports edits to an object that has another entity`() throws {
        let team = try team("a")
        try context.save()
        let other = Self.container(fixture).makeContext(name: "other")
        let taken = ObjectID(entity: "Player", number: team.id.number)
        let object = try other.object(with: taken)
        object["shirt"] = .int(9)
        #expect(try other.fetch(FetchRequest(entity: "Team")) == [object])
        #expect(object.id == team.id)
        let error = try #require(throws: TandemError.self) { try other.save() }
        #expect(
            error.code == .schemaMismatch
                && error.message.contains("Player.shirt does not exist in"))
        #expect(error.message.contains("\(team.id), which was mistaken for \(taken);"))
        object["name"] = .string("c")
        #expect(other.updatedObjects == [object])
        try other.save()
        #expect(try stored("Team").map { $0["name"] } == [.string("c")])
    }

    @Test func `edits follow inherited properties and drop values of another type`() throws {
        let old = try CompiledModel(
            ManagedObjectModel {
                Entity("Base") { Attribute("wins", .int) }
                Entity("Team", parent: "Base") { Attribute("name", .string) }
            })
        let new = try CompiledModel(
            ManagedObjectModel {
                Entity("Root", renamedFrom: "Base") {
                    Attribute("level", .int, default: .int(1))
                    Attribute("points", .int, renamedFrom: "wins")
                }
                Entity("Team", parent: "Root") { Attribute("name", .int) }
            }, replacing: old)
        let (before, now) = (
            try #require(old.entity(named: "Team")), try #require(new.entity(named: "Team"))
        )
        var edits = Edits(kind: .insert)
        edits.values[try #require(before.slot(of: "wins"))] = .int(5)
        edits.values[try #require(before.slot(of: "name"))] = .string("a")
        let result = ModelTranslation(from: old, to: new).edits(edits, of: before, in: now)
        #expect(result.lost == ["Team.name"])
        let names = result.edits.values.keys.map { now.properties[$0].name }
        #expect(Set(names) == ["level", "points"])
        #expect(result.edits.values[try #require(now.slot(of: "points"))] == .int(5))
        #expect(result.edits.values[try #require(now.slot(of: "level"))] == .int(1))
    }
}
