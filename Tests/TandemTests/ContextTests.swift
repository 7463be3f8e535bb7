import Tandem
import TandemModel
import TandemQuery
import Testing

/// The model of these tests.
let buckets = ManagedObjectModel(Bucket.self, Content.self)

@MainActor @Suite struct ContextTests {
    let daemon: FakeDaemon
    let container: PersistentContainer
    let context: ManagedObjectContext

    init() throws {
        daemon = try FakeDaemon(buckets)
        container = daemon.container()
        context = container.makeContext(name: "test")
    }

    func all(_ entity: String) -> FetchRequest<ManagedObject> { FetchRequest(entity: entity) }

    @Test func `an inserted object has its final id before it is saved`() throws {
        let bucket = try context.insert(Bucket.self)
        let id = bucket.id
        bucket["name"] = .string("a")
        #expect(bucket.isInserted && context.hasChanges)
        let position = try context.save()
        #expect(position.number == 1 && context.position == position)
        #expect(bucket.id == id && !bucket.isInserted && !context.hasChanges)
        #expect(bucket["name"] == .string("a"))
    }

    @Test func `a fetch shows the saves of others`() throws {
        _ = daemon.insert("Content", ["name": .string("x"), "size": .int(3)])
        let found = try context.fetch(Content.self)
        #expect(found.map(\.name) == ["x"] && found.map(\.size) == [3])
        #expect(try context.count(for: all("Content")) == 1)
    }

    @Test func `an object is the same one however it is reached`() throws {
        let reference = daemon.insert("Content", ["name": .string("x")])
        let fetched = try context.fetch(all("Content")).first
        let again = try context.object(with: ObjectID(entity: "Content", number: reference.number))
        #expect(fetched === again)
    }

    @Test func `merging changes the row and keeps pending edits on top`() throws {
        let reference = daemon.insert("Content", ["name": .string("x"), "size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        content.name = "mine"
        daemon.update(reference, ["name": .string("theirs"), "size": .int(2)])
        try context.reach(daemon.end)
        #expect(content.name == "mine" && content.size == 2)
        #expect(content.committedValues()["name"] == .string("theirs"))
        context.rollback()
        #expect(content.name == "theirs" && !content.hasChanges)
    }

    @Test func `an answer is preceded by a merge up to its position`() throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        daemon.update(reference, ["size": .int(2)])
        #expect(content.size == 1)
        #expect(try context.count(for: all("Bucket")) == 0)
        #expect(content.size == 2)
        #expect(context.position == daemon.end)
    }

    @Test func `a save merges earlier saves of others`() throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        daemon.update(reference, ["size": .int(2)])
        let other = try context.insert(Content.self)
        other.name = "new"
        #expect(try context.save() == daemon.end)
        #expect(content.size == 2 && other.name == "new" && !other.isFault)
    }

    @Test func `edits made while a save is in flight are kept`() async throws {
        _ = daemon.insert("Content", ["name": .string("x"), "size": .int(1)])
        let content = try #require(try await context.fetch(Content.self).first)
        content.size = 2
        daemon.state.withLock { $0.holdsSaves = true }
        let context = context
        let save = Task { @MainActor in try await context.save() }
        while context.hasChanges { await Task.yield() }
        content.size = 3
        content.name = "later"
        while daemon.state.withLock({ $0.held.isEmpty }) { await Task.yield() }
        daemon.releaseSaves()
        _ = try await save.value
        #expect(content.size == 3 && content.name == "later" && content.hasChanges)
        #expect(content.committedValues()["size"] == .int(2))
    }

    @Test func `a failed save returns its edits to pending, later ones on top`() async throws {
        _ = daemon.insert("Content", ["name": .string("x"), "size": .int(1)])
        let content = try #require(try await context.fetch(Content.self).first)
        content.size = 2
        content.name = "first"
        daemon.state.withLock { $0.refusesSaves = TandemError(.validation, "no") }
        daemon.state.withLock { $0.holdsSaves = true }
        let context = context
        let save = Task { @MainActor in try await context.save() }
        while context.hasChanges { await Task.yield() }
        content.name = "second"
        while daemon.state.withLock({ $0.held.isEmpty }) { await Task.yield() }
        daemon.releaseSaves()
        await #expect(throws: TandemError.self) { try await save.value }
        #expect(content.changedValues() == ["size": .int(2), "name": .string("second")])
    }

    @Test func `setting one end of a relationship shows at the other`() throws {
        let bucket = try context.insert(Bucket.self)
        let content = try context.insert(Content.self)
        content.bucket = bucket
        #expect(bucket.objects("contents") == [content])
        let second = try context.insert(Bucket.self)
        second.add(content, to: "contents")
        #expect(content.bucket === second && bucket.objects("contents").isEmpty)
        try context.save()
        #expect(content.bucket === second)
        #expect(second.objects("contents") == [content] && bucket.objects("contents").isEmpty)
        context.delete(content)
        #expect(second.objects("contents").isEmpty && content.isDeleted)
        try context.save()
        #expect(try context.count(for: all("Content")) == 0)
    }

    @Test func `a to-many relationship follows the saves of others`() throws {
        let bucket = daemon.insert("Bucket", [:])
        let mine = try #require(try context.fetch(all("Bucket")).first)
        #expect(mine.objects("contents").isEmpty)
        let content = daemon.insert("Content", ["bucket": .reference(bucket)])
        try context.reach(daemon.end)
        #expect(mine.objects("contents").map(\.id.number) == [content.number])
        daemon.update(content, ["bucket": .null])
        try context.reach(daemon.end)
        #expect(mine.objects("contents").isEmpty)
    }

    @Test func `an object deleted elsewhere is deleted and reads as null`() throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        content.size = 5
        daemon.delete(reference)
        try context.reach(daemon.end)
        #expect(content.isDeleted && content["size"] == .null && !context.hasChanges)
        let id = content.id
        #expect(throws: TandemError.self) { try context.existingObject(with: id) }
    }

    @Test func `several transactions are merged with their net effect`() throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        for size in 2...5 { daemon.update(reference, ["size": .int(Int64(size))]) }
        let gone = daemon.insert("Content", [:])
        daemon.delete(gone)
        try context.reach(daemon.end)
        #expect(content.size == 5 && content.version == 5)
        #expect(context.position?.number == 7)
    }

    @Test func `fetches take pending edits into account`() throws {
        let first = daemon.insert("Content", ["name": .string("b")])
        _ = daemon.insert("Content", ["name": .string("c")])
        let request = FetchRequest(entity: "Content", sort: [SortKey("name")])
        let stored = try context.fetch(request)
        let new = try context.insert(Content.self)
        new.name = "a"
        context.delete(try #require(stored.first { $0.id.number == first.number }))
        #expect(try context.fetch(request).map { $0["name"] } == [.string("a"), .string("c")])
    }
}
