import Tandem
import Testing

@Suite(.ownThread) struct `A save in one context reaches another` {
    @Test @MainActor func `as an insert, an update and a deletion`() throws {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "main")
        let reader = fixture.container("reader").makeContext(name: "main")
        let request = FetchRequest(entity: "Content", sort: [SortKey("name")])
        #expect(try reader.fetch(request).isEmpty)

        let bucket = try writer.insert(Bucket.self)
        bucket.name = "b"
        let content = try writer.insert(Content.self)
        content.name = "c"
        content.bucket = bucket
        let first = try writer.save()
        #expect(first.number == 2)

        try reader.reach(first)
        let seen = try #require(try reader.fetch(request).first as? Content)
        #expect(seen.name == "c")
        #expect(seen.bucket?.name == "b")
        #expect(seen.bucket?.contents == [seen])

        content.size = 7
        try reader.reach(try writer.save())
        #expect(seen.size == 7)

        writer.delete(bucket)
        try reader.reach(try writer.save())
        #expect(seen.isDeleted)
        #expect(try reader.fetch(request).isEmpty)
    }

    @Test @MainActor func `a pending edit stays on top of a merged save`() throws {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "main")
        let reader = fixture.container("reader").makeContext(name: "main")
        let content = try writer.insert(Content.self)
        content.name = "a"
        try writer.save()
        let seen = try #require(
            try reader.fetch(FetchRequest(entity: "Content")).first as? Content)
        seen.name = "mine"
        content.size = 3
        try reader.reach(try writer.save())
        #expect(seen.name == "mine")
        #expect(seen.size == 3)
    }

    @Test @MainActor func `a fetch of more objects than are cached shows them all`() throws {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "main")
        for index in 0..<10 { try writer.insert(Content.self).size = index }
        try writer.save()
        var limits = ClientLimits()
        limits.cachedRows = 4
        let container = PersistentContainer(
            entities: fixture.types, transport: fixture.transport, limits: limits)
        let reader = container.makeContext(name: "main")
        for _ in 0..<2 {
            let found = try reader.fetch(Content.self, sort: ["size"])
            #expect(found.map(\.size) == Array(0..<10))
        }
    }

    @Test @MainActor func `a negative limit is refused before it is sent`() throws {
        let fixture = try Fixture()
        let context = fixture.container().makeContext(name: "main")
        #expect {
            try context.fetch(FetchRequest(entity: "Content", limit: -1))
        } throws: { ($0 as? TandemError)?.code == .usage }
    }

    @Test @MainActor func `law 7: the largest limit and offset are accepted like others`() throws {
        let fixture = try Fixture()
        let container = fixture.container()
        let context = container.makeContext(name: "main")
        for index in 0..<3 { try context.insert(Content.self).size = index }
        try context.save()
        var request = FetchRequest(entity: "Content", limit: .max, offset: 1)
        #expect(try context.fetch(request).count == 2)
        request.offset = .max
        #expect(try context.fetch(request).isEmpty)
        #expect(try container.history(after: .max).transactions.isEmpty)
        #expect(try context.count(for: FetchRequest(entity: "Content")) == 3)
    }
}
