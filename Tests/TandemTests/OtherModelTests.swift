import TandemModel
import TandemWire
import Testing

@testable import Tandem

/// Model changes by another client between two requests of a context that does not know of them
/// yet.
@MainActor @Suite struct OtherModelTests {
    let fixture: Fixture
    let context: ManagedObjectContext
    let other: PersistentContainer

    /// Adds new properties before the existing ones, so that every slot changes.
    private let later = ManagedObjectModel {
        Entity("Item", uniqueness: [["code"]]) {
            Attribute("alpha", .string)
            Attribute("name", .string, default: .string(""))
            Attribute("code", .string)
            Attribute("size", .int, default: .int(0), min: 0, max: 100)
            Relationship("badges", to: "Tag", inverse: "wearers", toMany: true)
            Relationship("tags", to: "Tag", inverse: "items", toMany: true)
        }
        Entity("Tag") {
            Attribute("name", .string)
            Relationship("items", to: "Item", inverse: "tags", toMany: true)
            Relationship("wearers", to: "Item", inverse: "badges", toMany: true)
        }
    }

    init() throws {
        fixture = try Fixture([Item.self, Tag.self])
        context = fixture.container("first").makeContext(name: "first")
        other = PersistentContainer(author: "other", transport: fixture.transport)
    }

    private func saved() throws -> (item: Item, tag: Tag) {
        let item = try context.insert(Item.self)
        let tag = try context.insert(Tag.self)
        item.name = "a"
        try context.save()
        return (item, tag)
    }

    @Test func `law 3: a save is written to the intended properties, exactly once`() throws {
        let (item, tag) = try saved()
        item.name = "b"
        item["size"] = .int(7)
        item.tags = [tag]
        let added = try context.insert(Item.self)
        added.name = "c"
        added.code = "k"
        let model = try other.install(later)
        let position = try context.save()
        #expect(position.number == model.number + 1)
        #expect(!context.hasChanges && context.saving.inFlight == nil)
        #expect(context.tools.lastReceipt?.isRepeat == false)
        #expect(context.tools.lastReceipt?.inserted == [added.id])
        for seen in [context, other.makeContext(name: "other")] {
            let items = try seen.fetch(FetchRequest(entity: "Item", sort: ["name"]))
            #expect(items.map { $0["name"] } == [.string("b"), .string("c")])
            #expect(items.map { $0["code"] } == [.null, .string("k")])
            #expect(items.map { $0["size"] } == [.int(7), .int(0)])
            #expect(items.allSatisfy { $0["alpha"] == .null })
            #expect(items.first?.objects("tags").map(\.id) == [tag.id])
            #expect(items.first?.objects("badges").isEmpty == true)
            #expect(try seen.save() == position)
        }
    }

    @Test func `law 3: an awaited save is written to the intended properties too`() async throws {
        let (item, _) = try saved()
        item.name = "b"
        let model = try await other.install(later)
        #expect(try await context.save().number == model.number + 1)
        item["size"] = .int(9)
        #expect(item["name"] == .string("b") && item["size"] == .int(9))
        try await context.save()
        let seen = try #require(
            try await other.makeContext(name: "other").fetch(FetchRequest(entity: "Item")).first)
        #expect(seen["name"] == .string("b") && seen["size"] == .int(9))
        #expect(seen["alpha"] == .null && seen["code"] == .null)
    }

    @Test func `a conflict is still one under the new model`() throws {
        let (item, _) = try saved()
        _ = try context.fetch(Item.self)
        item.name = "ours"
        try other.install(later)
        let theirs = other.makeContext(name: "other")
        let same = try #require(try theirs.fetch(FetchRequest(entity: "Item")).first)
        same["name"] = .string("theirs")
        try theirs.save()
        let error = try #require(throws: TandemError.self) { try context.save() }
        #expect(error.code == .conflict)
        #expect(item.name == "ours" && item.hasChanges)
        try context.save(policy: .objectTrump)
        try theirs.connect()
        #expect(try theirs.fetch(FetchRequest(entity: "Item")).first?["name"] == .string("ours"))
    }

    @Test func `edits that do not exist in the new model make the save fail, and nothing is saved`()
        throws
    {
        let item = try context.insert(Item.self)
        item.name = "a"
        item.code = "k"
        let model = try other.install(
            ManagedObjectModel {
                Entity("Item") { Attribute("name", .string, default: .string("")) }
                Entity("Tag") { Attribute("name", .string) }
            })
        let error = try #require(throws: TandemError.self) { try context.save() }
        #expect(error.code == .schemaMismatch && error.message.contains("Item.code"))
        #expect(context.hasChanges && context.saving.inFlight == nil)
        #expect(try context.save().number == model.number + 1)
        #expect(item["name"] == .string("a"))
    }

    @Test func `after the last allowed attempt the edits are pending again`()
        throws
    {
        var limits = ClientLimits()
        limits.modelAttempts = 1
        let container = PersistentContainer(
            entities: fixture.types, transport: fixture.transport, limits: limits)
        let context = container.makeContext(name: "impatient")
        let item = try context.insert(Item.self)
        item.name = "a"
        let model = try other.install(later)
        let error = try #require(throws: TandemError.self) { try context.save() }
        #expect(error.code == .schemaMismatch)
        #expect(item.hasChanges && item.name == "a")
        #expect(try context.save().number == model.number + 1)
    }

    @Test func `members are those of the requested relationship`() throws {
        let (item, tag) = try saved()
        item.tags = [tag]
        try context.save()
        let reader = fixture.container("reader").makeContext(name: "reader")
        let seen = try #require(try reader.fetch(Item.self).first)
        try other.install(later)
        #expect(seen.tags.map(\.id) == [tag.id])
        #expect(seen.objects("badges").isEmpty)
        #expect(reader.faultFailure == nil)
    }
}
