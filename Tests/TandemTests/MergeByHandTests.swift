import Tandem
import TandemModel
import Testing

/// Contexts that merge only on request.
@MainActor @Suite struct MergeByHandTests {
    let fixture: Fixture
    let container: PersistentContainer
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext

    init() throws {
        fixture = try Fixture()
        container = fixture.container()
        writer = container.makeContext(name: "writer")
        reader = container.makeContext(name: "reader")
    }

    /// Saves the edits and returns the payload that the saving context publishes.
    private func save(_ edit: () throws -> Void) async throws -> SavePayload {
        let saves = writer.didSave
        try edit()
        try await writer.save()
        for try await payload in saves { return payload }
        throw CancellationError()
    }

    @discardableResult
    private func blocking(
        _ context: ManagedObjectContext, _ payload: SavePayload
    ) throws -> Position {
        try context.mergeChanges(fromContextDidSave: payload)
    }

    private func blocking(_ position: Position, into contexts: [ManagedObjectContext]) throws {
        try ManagedObjectContext.mergeChanges(fromRemoteContextSave: position, into: contexts)
    }

    @Test func `a payload is merged: updates, inserts and deletes, edits on top`() async throws {
        let first = try writer.insert(Content.self)
        first.name = "a"
        let second = try writer.insert(Content.self)
        second.name = "b"
        try await writer.save()
        let mine = try await reader.fetch(Content.self, sort: ["name"])
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["name"]), context: reader)
        try await controller.performFetch()
        mine[0].size = 5
        var told: [ObjectsChange] = []
        let observation = reader.onObjectsDidChange { told.append($0) }
        let payload = try await save {
            first.name = "aa"
            first.size = 1
            writer.delete(second)
            try writer.insert(Content.self).name = "c"
        }
        #expect(mine[0].name == "a" && !mine[1].isDeleted)
        #expect(try blocking(reader, payload) == payload.position)
        #expect(mine[0].name == "aa" && mine[0].size == 5 && mine[1].isDeleted)
        #expect(mine[0].committedValues()["size"] == .int(1))
        #expect(controller.fetchedObjects.map { $0["name"].json.string } == ["aa", "c"])
        #expect(told.count == 1 && told[0].deleted == [mine[1].id])
        #expect(told[0].refreshed == [mine[0].id] && told[0].inserted == Set(payload.inserted))
        withExtendedLifetime(observation) {}
    }

    @Test func `earlier payloads that were left out are merged with it, in order`() async throws {
        let object = try writer.insert(Content.self)
        try await writer.save()
        let mine = try #require(try await reader.fetch(Content.self).first)
        let early = try await save { object.size = 1 }
        _ = try await save { object.name = "between" }
        let late = try await save { object.size = 2 }
        let later = try await save { object.size = 3 }
        try blocking(reader, late)
        #expect(mine.size == 2 && mine.name == "between" && reader.position == late.position)
        try await reader.mergeChanges(fromContextDidSave: early)
        #expect(mine.size == 2 && reader.position == late.position)
        try await reader.mergeChanges(fromContextDidSave: later)
        #expect(mine.size == 3 && reader.position == later.position)
    }

    @Test func `a save of another process is merged into several contexts by its position`()
        async throws
    {
        let object = try writer.insert(Content.self)
        try await writer.save()
        let contexts = [reader, container.makeContext(name: "third")]
        let seen = try contexts.map { try #require(try $0.fetch(Content.self).first) }
        let remote = fixture.container("remote").makeContext(name: "remote")
        let theirs = try #require(
            try await remote.existingObject(with: object.id) as? Content)
        theirs.size = 7
        let text = try await remote.save().description
        let position = try #require(Position(text))
        try blocking(position, into: contexts)
        #expect(seen.map(\.size) == [7, 7])
        theirs.size = 8
        let next = try await remote.save()
        try await ManagedObjectContext.mergeChanges(fromRemoteContextSave: next, into: contexts)
        #expect(seen.map(\.size) == [8, 8] && contexts.map(\.position) == [next, next])
    }

    @Test func `a payload of another log is refused`() async throws {
        let elsewhere = try Fixture()
        let other = elsewhere.container().makeContext(name: "other")
        _ = try other.insert(Content.self)
        let position = try await other.save()
        try await reader.connect()
        let error = #expect(throws: TandemError.self) { try blocking(position, into: [reader]) }
        #expect(error?.code == .historyExpired)
    }
}
