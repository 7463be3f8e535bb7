import TandemDaemon
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Contexts that stay at their pinned position.
@MainActor @Suite struct PinTests {
    private let all = FetchRequest(entity: "Content", sort: ["size"])

    /// Returns a writer's objects, and a reader at the position of their save.
    private func world(
        _ limits: DaemonLimits = DaemonLimits(), mergesAutomatically: Bool = false
    ) throws -> (Fixture, ManagedObjectContext, ManagedObjectContext, [Content]) {
        let fixture = try Fixture(limits: limits)
        let writer = fixture.container("writer").makeContext(name: "writer")
        let bucket = try writer.insert(Bucket.self)
        let contents = try (0..<3).map { size in
            let content = try writer.insert(Content.self)
            content.size = size
            content.bucket = bucket
            return content
        }
        let position = try writer.save()
        let reader = fixture.container("reader")
            .makeContext(name: "reader", mergesAutomatically: mergesAutomatically)
        try reader.reach(position)
        return (fixture, writer, reader, contents)
    }

    private func sizes(_ context: ManagedObjectContext) throws -> [Int] {
        try context.fetch(all).compactMap { ($0 as? Content)?.size }
    }

    @Test func `a pinned context reads the state at its pin, and moving it is one change`()
        async throws
    {
        let (fixture, writer, reader, contents) = try world(mergesAutomatically: true)
        defer { withExtendedLifetime(fixture) {} }
        let list = try FetchedResultsController(fetchRequest: all, context: reader)
        try await list.performFetch()
        var changes: [ObjectsChange] = []
        let observation = reader.onObjectsDidChange { changes.append($0) }
        let position = try await reader.pin()
        #expect(reader.pinnedPosition == position)
        for round in 1...3 {
            contents[0].size = 10 * round
            try await writer.save()
        }
        writer.delete(contents[1])
        _ = try writer.insert(Content.self)
        let end = try await writer.save()
        for _ in 0..<10 { await Task.yield() }
        #expect(reader.position == position && list.numberOfObjects == 3)
        // None of the objects were loaded before.
        let ids = contents.map(\.id)
        let first = try #require(
            try await reader.existingObject(with: ids[0]) as? Content)
        #expect(first.size == 0)
        #expect(first.bucket?.contents.map(\.id).sorted() == ids.sorted())
        #expect(try await reader.fetch(all).map(\.id) == ids)
        #expect(try await reader.count(for: all) == 3)
        #expect(try await reader.fetch(all, at: end).count == 3)
        #expect(reader.position == position && changes.isEmpty)
        #expect(try await reader.unpin() == end)
        #expect(reader.pinnedPosition == nil && changes.count == 1)
        #expect(first.size == 30 && list.numberOfObjects == 3)
        #expect(try reader.object(with: ids[1]).isDeleted)
        withExtendedLifetime(observation) {}
    }

    @Test func `an unpinned context follows again`() async throws {
        let (fixture, writer, reader, contents) = try world(mergesAutomatically: true)
        defer { withExtendedLifetime(fixture) {} }
        _ = try await reader.fetch(all)
        try await reader.pin()
        try await reader.unpin()
        let changes = reader.objectsDidChange
        contents[0].size = 10
        let end = try await writer.save()
        for try await change in changes where change.position == end { break }
        #expect(reader.position == end)
    }

    @Test func `a context moves back, and each save is reported once`() throws {
        let (fixture, writer, reader, contents) = try world()
        defer { withExtendedLifetime(fixture) {} }
        let start = try #require(reader.position)
        let object = try #require(
            try reader.existingObject(with: contents[2].id) as? Content)
        var told: [UInt64] = []
        let observer = try reader.observe("Content") {
            if case .saved(let save) = $0 { told.append(save.payload.position.number) }
        }
        contents[0].size = 10
        let one = try writer.save()
        writer.delete(contents[2])
        let two = try writer.save()
        try reader.reach(two)
        #expect(try sizes(reader) == [1, 10])
        #expect(object.isDeleted)
        try reader.pin(at: start)
        #expect(!object.isDeleted && object.size == 2)
        #expect(try sizes(reader) == [0, 1, 2])
        try reader.pin(at: one)
        #expect(try sizes(reader) == [1, 2, 10])
        try reader.unpin()
        #expect(told == [one.number, two.number])
        withExtendedLifetime(observer) {}
    }

    @Test func `unsaved edits stay on top of a pin, and prevent moving back`() throws {
        let (fixture, writer, reader, contents) = try world()
        defer { withExtendedLifetime(fixture) {} }
        let start = try #require(reader.position)
        contents[1].size = 20
        let end = try writer.save()
        try reader.reach(end)
        let mine = try #require(try reader.existingObject(with: contents[0].id) as? Content)
        let form = reader.makeChild(name: "form")
        let edited = try form.existingObject(with: contents[0].id)
        edited["size"] = .int(7)
        let error = #expect(throws: TandemError.self) { try form.pin(at: start) }
        #expect(error?.code == .usage && reader.pinnedPosition == nil)
        try form.pin()
        #expect(reader.pinnedPosition == end && form.pinnedPosition == end)
        try form.save()
        #expect(mine.size == 7)
        form.rollback()
        reader.rollback()
        try reader.pin(at: start)
        #expect(try sizes(form) == [0, 1, 2])
    }

    @Test func `a save detects conflicts by version, and leaves the context at its pin`()
        throws
    {
        let (fixture, writer, reader, contents) = try world()
        defer { withExtendedLifetime(fixture) {} }
        try reader.pin()
        contents[0].size = 10
        contents[1].size = 20
        try writer.save()
        let mine = try reader.fetch(all).compactMap { $0 as? Content }
        mine[0].name = "mine"
        let error = #expect(throws: TandemError.self) { try reader.save() }
        #expect(error?.code == .conflict && error?.conflicts.count == 1)
        #expect(mine[1].size == 1)
        let saved = try reader.save(policy: .storeTrump)
        #expect(reader.pinnedPosition == saved)
        #expect(mine.map(\.size) == [10, 20, 2] && mine[0].name == "mine")
        contents[2].size = 30
        try writer.save()
        reader.refreshAllObjects()
        #expect(mine.map(\.size) == [10, 20, 2])
        // An object that no other client changed has no conflict.
        mine[1].name = "mine, too"
        #expect(try reader.save() == reader.pinnedPosition)
        #expect(mine[2].size == 30)
    }

    @Test func `the error of an ended pin names the remedy, and the remedy works`() throws {
        let (fixture, writer, reader, contents) = try world()
        let position = try reader.pin()
        contents[0].size = 10
        try writer.save()
        let object = try #require(try reader.object(with: contents[0].id) as? Content)
        var model = try #require(writer.session).model.model
        model.entities["Spare"] = Entity("Spare")
        let end = try PersistentContainer(author: "other", transport: fixture.transport)
            .install(model)
        for _ in 0..<2 {
            let error = #expect(throws: TandemError.self) { try reader.fetch(all) }
            #expect(error?.code == .historyExpired)
            #expect(error?.message.contains("pin the context at a newer position") == true)
        }
        #expect(object.size == 0 && reader.faultFailure?.code == .historyExpired)
        #expect(reader.pinnedPosition == position)
        #expect(throws: TandemError.self) { try reader.pin(at: position) }
        #expect(try reader.pin(at: end) == end)
        #expect(try sizes(reader) == [1, 2, 10])
        #expect(try reader.unpin() == end)
    }

    @Test func `a failed pin leaves the context as it was`() throws {
        var limits = DaemonLimits()
        limits.pinsPerConnection = 1
        let (fixture, writer, reader, contents) = try world(limits)
        let start = try #require(reader.position)
        contents[0].size = 10
        let end = try writer.save()
        func code(_ context: ManagedObjectContext, _ position: Position) -> TandemError.Code? {
            #expect(throws: TandemError.self) { try context.pin(at: position) }?.code
        }
        #expect(code(reader, Position(log: end.log, epoch: 9, number: 1)) == .historyExpired)
        #expect(code(reader, end.at(0)) == .historyExpired)
        #expect(reader.pinnedPosition == nil && reader.position == start)
        let container = fixture.container("two")
        let (one, two) = (container.makeContext(name: "one"), container.makeContext(name: "two"))
        try one.pin()
        #expect(code(two, start) == .limitExceeded)
        #expect(two.pinnedPosition == nil && two.position == end)
        try one.unpin()
        #expect(try two.pin(at: start) == start)
        #expect(try sizes(two) == [0, 1, 2])
    }
}
