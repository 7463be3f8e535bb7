import FoundationEssentials
import TandemModel
import Testing

@testable import Tandem

/// A class with a property that its entity does not have.
final class Misspelt: ManagedObject, ManagedEntity {
    @Managed("nmae") var name: String

    static let entity = Entity("Misspelt") { Attribute("name", .string) }
}

/// A class that declares an attribute with another type.
final class Mistyped: ManagedObject, ManagedEntity {
    @Managed("size") var size: Int?

    static let entity = Entity("Mistyped") { Attribute("size", .double) }
}

/// A class that declares a to-many relationship as an object.
final class Misled: ManagedObject, ManagedEntity {
    @Managed("others") var other: Misled?

    static let entity = Entity("Misled") {
        Relationship("others", to: "Misled", inverse: "others", toMany: true)
    }
}

/// A class that declares every supported type correctly.
final class Shown: ManagedObject, ManagedEntity {
    @Managed("text") var text: String
    @Managed("number") var number: Int64?
    @Managed("real") var real: Double
    @Managed("exact") var exact: Decimal?
    @Managed("flag") var flag: Bool
    @Managed("day") var day: Date
    @Managed("bytes") var bytes: Data
    @Managed("key") var key: UUID
    @Managed("link") var link: URL?
    @Managed("parent") var parent: Shown?
    @Managed("children") var children: Set<Shown>

    static let entity = Entity("Shown") {
        Attribute("text", .string)
        Attribute("number", .int)
        Attribute("real", .double)
        Attribute("exact", .decimal)
        Attribute("flag", .bool)
        Attribute("day", .date)
        Attribute("bytes", .data)
        Attribute("key", .uuid)
        Attribute("link", .url)
        Relationship("parent", to: "Shown", inverse: "children")
        Relationship("children", to: "Shown", inverse: "parent", toMany: true)
    }
}

/// Models and classes that can't be used fail at once, without a daemon.
@MainActor @Suite struct ModelMisuseTests {
    @Test func `an author's name of more than 256 bytes fails at once`() throws {
        let author = String(repeating: "a", count: 257)
        let container = PersistentContainer(socket: "/nowhere/tandem.sock", author: author)
        let error = #expect(throws: TandemError.self) {
            try container.viewContext.fetch(FetchRequest(entity: "Team"))
        }
        #expect(error?.code == .usage && error?.message.contains("257 bytes") == true)
    }

    /// Returns the error of a container that would wait long for a missing daemon.
    private func failure(
        _ types: [any ManagedEntity.Type] = [], model: ManagedObjectModel? = nil
    ) throws -> TandemError? {
        var limits = ClientLimits()
        limits.connectMilliseconds = 60_000
        let container =
            model.map { PersistentContainer(model: $0, socket: "/nowhere/at/all", limits: limits) }
            ?? PersistentContainer(entities: types, socket: "/nowhere/at/all", limits: limits)
        let context = container.makeContext(name: "test")
        return #expect(throws: TandemError.self) {
            try context.count(for: FetchRequest(entity: "A"))
        }
    }

    @Test func `a model without an inverse fails at the first use and names the property`() throws {
        let model = ManagedObjectModel { Entity("A") { Relationship("b", to: "B", inverse: "a") } }
        let error = try failure(model: model)
        #expect(error?.code == .usage && error?.message.contains("A.b") == true)
    }

    @Test func `a class with an unknown property fails at the first use`() throws {
        let error = try failure([Misspelt.self])
        #expect(error?.code == .unknownProperty)
        #expect(error?.message.contains("Misspelt.nmae") == true)
    }

    @Test func `a class that declares another type fails at the first use`() throws {
        let size = try failure([Mistyped.self])
        #expect(size?.code == .usage && size?.message.contains("Mistyped.size") == true)
        let other = try failure([Misled.self])
        #expect(other?.code == .usage && other?.message.contains("Misled.others") == true)
    }

    @Test func `correct declarations are accepted, whatever their type`() throws {
        let entity = try #require(
            try CompiledModel(ManagedObjectModel(Shown.self)).entity(named: "Shown"))
        #expect(ManagedClassValidator.problem(of: Shown.self, for: entity) == nil)
    }

    @Test func `registering a bad class throws, and so does its first use`() throws {
        let fixture = try Fixture([Shown.self, Misspelt.self])
        let store = PersistentContainer(
            model: ManagedObjectModel(Shown.self, Misspelt.self, Mistyped.self), author: "a",
            transport: fixture.transport)
        #expect(throws: TandemError.self) { try store.register(Misspelt.self) }
        let taker = PersistentContainer(author: "b", transport: fixture.transport)
        try store.storeModel().entities.keys.sorted().forEach { _ in }
        let context = taker.makeContext(name: "test")
        #expect(try context.fetch(Shown.self).isEmpty)
        let error = #expect(throws: TandemError.self) { try context.fetch(Mistyped.self) }
        #expect(error?.code == .usage)
    }
}

/// An app that declares less than the store's model.
@MainActor @Suite struct PartialModelTests {
    private let whole = ManagedObjectModel {
        Entity("Item") {
            Attribute("alpha", .string)
            Attribute("name", .string, default: .string(""))
            Attribute("size", .int)
        }
        Entity("Special", parent: "Item") { Attribute("zeta", .int) }
    }
    private let part = ManagedObjectModel {
        Entity("Item") {
            Attribute("name", .string, default: .string(""))
            Attribute("size", .int)
        }
    }

    @Test func `overwrite leaves undeclared properties alone`() throws {
        let fixture = try Fixture([])
        let newer = PersistentContainer(model: whole, author: "new", transport: fixture.transport)
        let older = PersistentContainer(model: part, author: "old", transport: fixture.transport)
        let writer = newer.makeContext(name: "w")
        let special = try writer.insert("Special")
        special["name"] = .string("a")
        try writer.save()
        let stale = older.makeContext(name: "o")
        let held = try #require(try stale.fetch(FetchRequest(entity: "Item")).first)
        #expect(held["name"] == .string("a") && held["size"] == .null)
        special["alpha"] = .string("new")
        special["zeta"] = .int(7)
        special["size"] = .int(3)
        try writer.save()
        held["name"] = .string("old")
        try stale.save(policy: .overwrite)
        let seen = try #require(
            try newer.makeContext(name: "s").fetch(FetchRequest(entity: "Item")).first)
        // Declared properties have the app's values; undeclared ones keep the values that others
        // saved.
        #expect(seen["name"] == .string("old") && seen["size"] == .null)
        #expect(seen["alpha"] == .string("new") && seen["zeta"] == .int(7))
    }
}
