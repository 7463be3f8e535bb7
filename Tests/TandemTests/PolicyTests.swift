import Tandem
import Testing

final class Item: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("code") var code: String?
    @Managed("tags") var tags: Set<Tag>

    static let entity = Entity("Item", uniqueness: [["code"]]) {
        Attribute("name", .string, default: .string(""))
        Attribute("code", .string)
        Attribute("size", .int, default: .int(0), min: 0, max: 100)
        Relationship("tags", to: "Tag", inverse: "items", toMany: true)
    }
}

final class Tag: ManagedObject, ManagedEntity {
    @Managed("items") var items: Set<Item>

    static let entity = Entity("Tag") {
        Attribute("name", .string)
        Relationship("items", to: "Item", inverse: "tags", toMany: true)
    }
}

@MainActor @Suite struct PolicyTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext

    init() throws {
        fixture = try Fixture([Item.self, Tag.self])
        writer = fixture.container("writer").makeContext(name: "w")
        reader = fixture.container("reader").makeContext(name: "r")
    }

    /// Returns an item that both contexts hold; the reader has not merged a change by the writer.
    private func rivals() throws -> (theirs: Item, ours: Item) {
        let item = try writer.insert(Item.self)
        item.name = "base"
        try writer.save()
        let ours = try #require(try reader.fetch(Item.self).first)
        item.name = "theirs"
        try writer.save()
        ours.name = "ours"
        return (item, ours)
    }

    @Test func `a conflict names base, ours and theirs, and keeps the edits`() throws {
        let (_, ours) = try rivals()
        let error = try #require(throws: TandemError.self) { try reader.save() }
        #expect(error.code == .conflict)
        let details = try #require(reader.details(of: error).first)
        #expect(details.object == ours.id)
        #expect(details.base["name"] == .string("base"))
        #expect(details.ours["name"] == .string("ours"))
        #expect(details.theirs?["name"] == .string("theirs"))
        #expect(ours.name == "ours" && ours.hasChanges)
    }

    @Test(arguments: [
        (MergePolicy.objectTrump, "ours"), (.storeTrump, "theirs"), (.overwrite, "ours"),
        (.rollback, "theirs"),
    ])
    func `a policy resolves a conflict`(policy: MergePolicy, winner: String) throws {
        let (theirs, ours) = try rivals()
        let position = try reader.save(policy: policy)
        #expect(ours.name == winner && !reader.hasChanges)
        try writer.reach(position)
        #expect(theirs.name == winner)
    }

    @Test func `members of a many-to-many relationship are added and removed on both ends`() throws
    {
        let item = try writer.insert(Item.self)
        let tags = [try writer.insert(Tag.self), try writer.insert(Tag.self)]
        item.tags = Set(tags)
        #expect(tags[0].items == [item])
        try reader.reach(try writer.save())
        #expect(item.tags.count == 2 && tags[1].items == [item])
        let seen = try #require(try reader.fetch(Item.self).first)
        #expect(seen.tags.count == 2)
        tags[0].remove(item, from: "items")
        #expect(item.tags == [tags[1]])
        try reader.reach(try writer.save())
        #expect(seen.tags.map(\.id) == [tags[1].id] && item.tags == [tags[1]])
        let tag = try #require(seen.tags.first)
        seen.tags = []
        #expect(tag.items.isEmpty)
        try writer.reach(try reader.save())
        #expect(item.tags.isEmpty && tags[1].items.isEmpty)
    }

    @Test func `if two objects become one, the existing one keeps its id`() throws {
        let first = try writer.insert(Item.self)
        first.code = "x"
        try writer.save()
        let second = try reader.insert(Item.self)
        second.code = "x"
        second.name = "merged"
        let error = #expect(throws: TandemError.self) { try reader.save() }
        #expect(error?.code == .uniqueness)
        try writer.reach(try reader.save(policy: .objectTrump))
        #expect(second.id == first.id && second.name == "merged" && first.name == "merged")
        #expect(try reader.fetch(Item.self) == [second])
    }

    @Test func `law 3: a save under a known id is not applied again, and returns its objects`()
        throws
    {
        func save(_ context: ManagedObjectContext) throws -> Item {
            let item = try context.insert(Item.self)
            item.name = "once"
            try context.save(saveID: Array("order 66".utf8))
            return item
        }
        let first = try save(writer)
        let again = try save(reader)
        #expect(again.id == first.id && again.name == "once")
        #expect(try reader.count(for: FetchRequest(entity: "Item")) == 1)
        let other = try writer.insert(Item.self)
        other.name = "something else"
        let error = #expect(throws: TandemError.self) {
            try writer.save(saveID: Array("order 66".utf8))
        }
        #expect(error?.code == .usage)
    }

    @Test func `values out of bounds are refused and stay pending`() throws {
        let item = try writer.insert(Item.self)
        item["size"] = .int(101)
        let error = #expect(throws: TandemError.self) { try writer.save() }
        #expect(error?.code == .validation)
        #expect(error?.problems.first?.property == "size")
        item["size"] = .int(100)
        #expect(try writer.save().number == 2)
    }

    @Test func `a new object that is deleted before the save leaves no trace`() throws {
        let item = try writer.insert(Item.self)
        let tag = try writer.insert(Tag.self)
        item.tags = [tag]
        writer.delete(item)
        #expect(tag.items.isEmpty && item.isDeleted)
        try writer.save()
        #expect(try writer.count(for: FetchRequest(entity: "Item")) == 0)
        #expect(try writer.count(for: FetchRequest(entity: "Tag")) == 1)
    }
}
