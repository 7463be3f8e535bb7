import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// The registered objects of a context, and refreshing them.
@MainActor @Suite struct RegisteredTests {
    let daemon: FakeDaemon
    let context: ManagedObjectContext

    init() throws {
        daemon = try FakeDaemon(buckets)
        context = daemon.container().makeContext(name: "registered")
    }

    @Test func `retained and edited objects are registered`() throws {
        let stored = daemon.insert("Content", ["name": .string("x")])
        let id = ObjectID(entity: "Content", number: stored.number)
        #expect(context.registeredObject(for: id) == nil && context.registeredObjects.isEmpty)
        var fetched = try context.fetch(Content.self)
        let new = try context.insert(Content.self)
        #expect(context.registeredObjects == [fetched[0], new])
        #expect(context.registeredObject(for: id) === fetched[0])
        fetched = []
        #expect(context.registeredObjects == [new] && context.registeredObject(for: id) == nil)
        try context.existingObject(with: id)["name"] = .string("edited")
        #expect(context.registeredObjects.count == 2)
    }

    @Test func `an object deleted from the store is not registered`() throws {
        let stored = daemon.insert("Content", [:])
        let content = try #require(try context.fetch(Content.self).first)
        daemon.delete(stored)
        try context.reach(daemon.end)
        #expect(context.registeredObjects.isEmpty)
        #expect(context.registeredObject(for: content.id) == nil)
        let new = try context.insert(Content.self)
        context.delete(new)
        #expect(context.registeredObjects.isEmpty)
    }

    @Test func `edits stay if an object turns out to be of a subentity`() throws {
        let fixture = try Fixture([])
        defer { withExtendedLifetime(fixture) {} }
        let model = ManagedObjectModel {
            Entity("Person") {
                Attribute("name", .string)
                Attribute("age", .int)
            }
            // The entity's own slots follow the inherited ones.
            Entity("Player", parent: "Person") { Attribute("number", .int) }
        }
        let container = PersistentContainer(model: model, transport: fixture.transport)
        let writer = container.makeContext(name: "writer")
        let stored = try writer.insert("Player")
        stored["age"] = .int(1)
        try writer.save()
        let reader = container.makeContext(name: "reader")
        let child = reader.makeChild(name: "child")
        let id = ObjectID(entity: "Person", number: stored.id.number)
        let person = try reader.object(with: id)
        person["name"] = .string("mine")
        try child.object(with: id)["age"] = .int(2)
        #expect(try reader.fetch(FetchRequest(entity: "Person")) == [person])
        #expect(person.id.entity == "Player" && person["age"] == .int(1))
        #expect(person["name"] == .string("mine") && reader.updatedObjects == [person])
        #expect(child.updatedObjects.map { $0["age"] } == [.int(2)])
        try child.save()
        try writer.reach(try reader.save())
        #expect(stored["name"] == .string("mine") && stored["age"] == .int(2))
    }

    @Test func `an id under another entity's name finds nothing`() throws {
        let stored = daemon.insert("Content", [:])
        let held = try context.fetch(Content.self)
        let wrong = ObjectID(entity: "Bucket", number: stored.number)
        #expect(context.registeredObject(for: wrong) == nil && held.count == 1)
    }

    @Test func `refreshing all keeps edits and new objects, and reads the saves of others`() throws
    {
        let stored = daemon.insert("Content", ["name": .string("x"), "size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        content.name = "mine"
        let new = try context.insert(Content.self)
        new.name = "new"
        daemon.update(stored, ["name": .string("theirs"), "size": .int(2)])
        context.refreshAllObjects()
        #expect(content.isFault && content.hasChanges && !new.isFault)
        #expect(content.size == 2 && content.name == "mine" && new.name == "new")
        #expect(content.committedValues()["name"] == .string("theirs"))
        #expect(context.position == daemon.end)
        try context.save()
        #expect(!context.hasChanges && content.name == "mine")
    }

    @Test func `refreshing one object drops its edits, or keeps them`() throws {
        _ = daemon.insert("Content", ["name": .string("x"), "size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        content.name = "mine"
        context.refresh(content, mergeChanges: true)
        #expect(content.isFault && content.name == "mine" && content.size == 1)
        context.refresh(content, mergeChanges: false)
        #expect(content.isFault && !content.hasChanges && content.name == "x")
        #expect(!context.hasChanges)
    }

    @Test func `a list is as correct after a refresh of all objects as before`() throws {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "writer")
        let reader = fixture.container("reader").makeContext(name: "reader")
        let contents = try ["a", "b", "c"].map { name in
            let content = try writer.insert(Content.self)
            content.name = name
            return content
        }
        try writer.save()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["name"]), context: reader)
        try controller.performFetch()
        let recorder = ChangeRecorder()
        controller.delegate = recorder
        reader.refreshAllObjects()
        #expect(recorder.changes.isEmpty && controller.numberOfObjects == 3)
        contents[0].name = "d"
        try reader.reach(try writer.save())
        #expect(controller.fetchedObjects.map { $0["name"].json.string } == ["b", "c", "d"])
        #expect(recorder.changes.count == 1)
        reader.refreshAllObjects()
        writer.delete(contents[1])
        try reader.reach(try writer.save())
        #expect(controller.fetchedObjects.map { $0["name"].json.string } == ["c", "d"])
    }
}
