import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import Tandem

/// A class with validation errors of its own at each kind of save.
final class Guarded: ManagedObject, ManagedEntity {
    struct Refusal: Error {}

    @Managed("name") var name: String

    static let entity = Entity("Guarded") {
        Attribute("name", .string, default: .string(""))
        Attribute("size", .int, default: .int(0), max: 9)
    }

    override func validate() throws {
        if name == "bad" { throw TandemError(.validation, "it must be good") }
        if name == "broken" { throw Refusal() }
    }

    override func validateForInsert() throws {
        try super.validateForInsert()
        if name == "late" { throw TandemError(.validation, "no new ones") }
    }

    override func validateForUpdate() throws {
        try super.validateForUpdate()
        if name == "frozen" { throw TandemError(.validation, "no changes") }
    }

    override func validateForDelete() throws {
        try super.validateForDelete()
        if name == "kept" { throw TandemError(.validation, "it stays") }
    }
}

/// Validation before a save leaves the process, compared with the daemon's.
@MainActor @Suite struct ValidationTests {
    private static let model = ManagedObjectModel {
        Entity("Person") {
            Attribute("name", .string, optional: false, min: 2, max: 4)
            Attribute("age", .int, min: 0, max: 150)
            Attribute("zone", .string, values: [.string("A"), .string("B")])
            Attribute("code", .string, pattern: "[A-Z]{3}-\\d+")
            Relationship("club", to: "Club", inverse: "members", optional: false)
        }
        Entity("Club") {
            Attribute("title", .string)
            Relationship(
                "members", to: "Person", inverse: "club", toMany: true, deleteRule: .deny,
                optional: false)
        }
    }

    private func person(
        _ context: ManagedObjectContext, _ name: String? = nil, age: Int64 = 1, zone: String = "A",
        in club: ManagedObject? = nil
    ) throws -> ManagedObject {
        let person = try context.insert("Person")
        person["name"] = name.map { .string($0) } ?? .null
        person["age"] = .int(age)
        person["zone"] = .string(zone)
        person.setObject(club, for: "club")
        return person
    }

    /// Returns the daemon's error for the context's edits, which are sent without validation.
    private func refusal(_ context: ManagedObjectContext) throws -> TandemError? {
        let model = try context.connection.session().model
        let builder = SaveBuilder(
            model: model, policy: .error, records: context.editor.editedObjects.map(\.record))
        var saveIDs = SaveIDs()
        let request = SaveRequest(
            saveID: saveIDs.next(), contentHash: builder.contentHash(), author: nil,
            context: "test", policy: .error, modelVersion: model.version,
            encoded: builder.operations())
        if case .failure(let error) = context.connection.answer(.save(request)) { return error }
        return nil
    }

    @Test func `all problems of a save are reported at once, and nothing is sent`() throws {
        let daemon = try FakeDaemon(Self.model)
        let context = daemon.container().makeContext(name: "c")
        let lone = try person(context, age: 151, zone: "C")
        let club = try context.insert("Club")
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.code == .validation)
        #expect(
            error?.problems.map(\.description) == [
                "\(lone.id).age: the value is above the maximum of 150",
                "\(lone.id).club: an object is required; set the relationship before saving",
                "\(lone.id).name: a value is required",
                "\(lone.id).zone: \"C\" is not allowed; the allowed values are \"A\", \"B\"",
                "\(club.id).members: an object is required; set the relationship before saving",
            ])
        let wasSent = daemon.state.withLock { state in
            state.requests.contains { if case .save = $0 { true } else { false } }
        }
        #expect(!wasSent && context.insertedObjects == [lone, club])
        lone["age"] = .int(150)
        lone["zone"] = .null
        lone["name"] = .string("äöüß")
        lone.setObject(club, for: "club")
        try context.save()
        #expect(!context.hasChanges)
    }

    @Test func `the daemon reports the same problems`() throws {
        let fixture = try Fixture([])
        let container = PersistentContainer(model: Self.model, transport: fixture.transport)
        let context = container.makeContext(name: "c")
        let club = try context.insert("Club")
        let first = try person(context, "ok", in: club)
        try context.save()
        _ = try person(context, "x", age: -1, zone: "C", in: nil)
        _ = try context.insert("Club")
        first["name"] = .string("too long")
        first["age"] = .int(1_000)
        first["code"] = .string("CMR")
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.problems.count == 8)
        #expect(
            error?.problems.last { $0.property == "code" }?.message
                == "the text does not match the pattern [A-Z]{3}-\\d+")
        let told = try refusal(context)
        #expect(told?.code == .validation)
        #expect(Set(told?.problems ?? []) == Set(error?.problems ?? []))
    }

    @Test
    func `member counts have a minimum and a maximum, whichever end is changed`()
        throws
    {
        let fixture = try Fixture([])
        let model = ManagedObjectModel {
            Entity("Player") { Relationship("team", to: "Team", inverse: "players") }
            Entity("Team") {
                Relationship(
                    "players", to: "Player", inverse: "team", toMany: true, min: 2, max: 3)
            }
        }
        let container = PersistentContainer(model: model, transport: fixture.transport)
        let context = container.makeContext(name: "c")
        let team = try context.insert("Team")
        let players = try (0..<4).map { _ in try context.insert("Player") }
        func problems() throws -> [String] {
            let mine: TandemError?
            do {
                for object in context.insertedObjects + context.updatedObjects {
                    if object.isInserted {
                        try object.validateForInsert()
                    } else {
                        try object.validateForUpdate()
                    }
                }
                mine = nil
            } catch {
                mine = error as? TandemError
            }
            let its = try refusal(context)
            #expect(its?.problems == mine?.problems)
            return its?.problems.map(\.message) ?? []
        }
        // An optional relationship may be empty.
        try context.save()
        _ = try context.fetch(FetchRequest(entity: "Team"))
        #expect(team.objects("players").isEmpty)
        team.add(players[0], to: "players")
        #expect(try problems() == ["the number of members is 1, below the minimum of 2"])
        #expect(throws: TandemError.self) { try context.save() }
        for player in players { player.setObject(team, for: "team") }
        #expect(try problems() == ["the number of members is 4, above the maximum of 3"])
        players[3].setObject(nil, for: "team")
        try context.save()
        // For a list that is not loaded, the daemon reports the problem.
        let other = container.makeContext(name: "d")
        let last = try other.existingObject(with: players[3].id)
        last.setObject(try other.object(with: team.id), for: "team")
        let error = #expect(throws: TandemError.self) { try other.save() }
        #expect(error?.problems.map(\.object) == [team.id])
        other.rollback()
        for player in players[..<2] { other.delete(try other.existingObject(with: player.id)) }
        #expect(throws: TandemError.self) { try other.save() }
        other.delete(try other.existingObject(with: players[2].id))
        try other.save()
        // A model may widen the bounds, but not narrow them.
        func installed(_ least: Int, _ most: Int) -> TandemError.Code? {
            var changed = model
            changed.entities["Team"]?.relationships["players"]?.minimum = least
            changed.entities["Team"]?.relationships["players"]?.maximum = most
            let other = PersistentContainer(author: "o", transport: fixture.transport)
            do {
                _ = try other.install(changed)
                return nil
            } catch {
                return (error as? TandemError)?.code
            }
        }
        #expect(installed(3, 3) == .schemaMismatch && installed(2, 2) == .schemaMismatch)
        #expect(installed(1, 4) == nil)
    }

    @Test func `only changed objects are validated`() throws {
        let daemon = try FakeDaemon(Self.model)
        _ = daemon.insert("Person", ["name": .string("much too long"), "age": .int(1)])
        let context = daemon.container().makeContext(name: "c")
        let found = try #require(try context.fetch(FetchRequest(entity: "Person")).first)
        found["age"] = .int(2)
        try context.save()
        found["age"] = .int(-2)
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.problems.map(\.message) == ["the value is below the minimum of 0"])
    }

    @Test func `an app's rules are reported together with those of the model`() throws {
        let daemon = try FakeDaemon(ManagedObjectModel(Guarded.self))
        let context = daemon.container().makeContext(name: "c")
        let bad = try context.insert(Guarded.self)
        bad.name = "bad"
        bad["size"] = .int(10)
        let late = try context.insert(Guarded.self)
        late.name = "late"
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(
            error?.problems.map(\.description) == [
                "\(bad.id).size: the value is above the maximum of 9", "\(bad.id): it must be good",
                "\(late.id): no new ones",
            ])
        late.name = "broken"
        #expect(throws: Guarded.Refusal.self) { try context.save() }
    }

    @Test func `updates and deletions have validation methods of their own`() throws {
        let daemon = try FakeDaemon(ManagedObjectModel(Guarded.self))
        let context = daemon.container().makeContext(name: "c")
        let object = try context.insert(Guarded.self)
        object.name = "frozen"
        try context.save()
        object["size"] = .int(1)
        let refused = #expect(throws: TandemError.self) { try context.save() }
        #expect(refused?.problems.map(\.message) == ["no changes"])
        object.name = "kept"
        try context.save()
        context.delete(object)
        // The object's name reads as before until the deletion is saved.
        let stays = #expect(throws: TandemError.self) { try context.save() }
        #expect(stays?.problems.map(\.message) == ["it stays"] && object.isDeleted)
    }

    @Test func `a denied deletion is reported before a save, and by the daemon in the same words`()
        throws
    {
        let fixture = try Fixture([])
        let container = PersistentContainer(model: Self.model, transport: fixture.transport)
        let context = container.makeContext(name: "c")
        let club = try context.insert("Club")
        let people = try ["aa", "bb"].map { try person(context, $0, in: club) }
        try context.save()
        #expect(club.objects("members").count == 2)
        context.delete(club)
        let early = #expect(throws: TandemError.self) { try club.validateForDelete() }
        let late = #expect(throws: TandemError.self) { try context.save() }
        #expect(early?.code == .deleteDenied && early == late)
        for person in people { context.delete(person) }
        try club.validateForDelete()
        try context.save()
    }

    @Test func `the reason for a denied deletion may be gone without being merged yet`() throws {
        let fixture = try Fixture([])
        let model = ManagedObjectModel {
            Entity("A") {
                Relationship("bs", to: "B", inverse: "a", toMany: true, deleteRule: .deny)
            }
            Entity("B") { Relationship("a", to: "A", inverse: "bs") }
        }
        let container = PersistentContainer(model: model, transport: fixture.transport)
        let context = container.makeContext(name: "c")
        let other = container.makeContext(name: "other")
        let (a, b) = (try context.insert("A"), try context.insert("B"))
        b.setObject(a, for: "a")
        try context.save()
        #expect(a.objects("bs") == [b])
        other.delete(try other.existingObject(with: b.id))
        try other.save()
        context.delete(a)
        #expect(throws: TandemError.self) { try a.validateForDelete() }
        try context.save()
        #expect(a.isDeleted && b.isDeleted && !context.hasChanges)
    }
}
