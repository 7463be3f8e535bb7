import TandemModel
import Testing

@testable import Tandem

/// Undo steps refer to the objects that the context shows, even if these were not retained for
/// long.
@MainActor @Suite struct UndoRecordTests {
    private let daemon: FakeDaemon
    private let stored: ObjectReference
    private let context: ManagedObjectContext

    /// Creates a context that keeps four unused rows and two undo steps.
    init() throws {
        daemon = try FakeDaemon(buckets)
        stored = daemon.insert("Content", ["name": .string("a")])
        for _ in 0..<9 { _ = daemon.insert("Content", ["name": .string("other")]) }
        var limits = ClientLimits()
        limits.cachedRows = 4
        limits.undoSteps = 2
        context = PersistentContainer(transport: daemon.transport, limits: limits)
            .makeContext(name: "undo")
        context.allowsUndo = true
    }

    private func content() throws -> Content {
        try #require(
            try context.fetch(Content.self).first { $0.id.number == stored.number })
    }

    /// Returns the value of the object's property in the fake daemon.
    private func saved(_ property: String) throws -> PropertyValue {
        let entity = daemon.entity("Content")
        let row = try #require(daemon.state.withLock { $0.rows[stored.number]?.row })
        return row.uncheckedValue(try #require(entity.slot(of: property)), in: entity)
    }

    /// Edits an object and undoes the edit; the object is not retained afterwards.
    private func editAndUndo() throws {
        let content = try content()
        content.name = "mine"
        context.undo()
        #expect(content.name == "a" && context.canRedo)
    }

    @Test func `a redone edit shows in an object fetched after a sweep`() throws {
        try editAndUndo()
        #expect(context.graph[stored.number]?.object == nil)
        context.graph.sweep()
        #expect(context.graph.count == 1)
        let content = try content()
        context.redo()
        #expect(content.name == "mine" && context.updatedObjects == [content])
        try context.save()
        #expect(try saved("name") == .string("mine"))
    }

    @Test func `an edit redone after a restart shows, and is based on the restart's position`()
        throws
    {
        try editAndUndo()
        context.applier.restart(in: try #require(context.session), at: context.merged)
        context.redo()
        #expect(context.graph[stored.number]?.version == context.merged)
        let content = try content()
        #expect(content.name == "mine" && context.updatedObjects == [content])
    }

    @Test func `a redone insert gives the object that the context finds`() throws {
        var number: ObjectNumber = 0
        func insert() throws {
            let bucket = try context.insert(Bucket.self)
            number = bucket.id.number
            context.undo()
        }
        try insert()
        _ = try context.fetch(Content.self)
        context.graph.sweep()
        context.redo()
        let bucket = try #require(context.insertedObjects.first)
        #expect(bucket.id.number == number && context.graph[number]?.object === bucket)
        #expect(try context.object(with: bucket.id) === bucket)
    }

    @Test func `law 8: rows are released together with the steps that refer to them`() throws {
        func isHeld() -> Bool { context.graph[stored.number]?.isIdle == false }
        try editAndUndo()
        #expect(isHeld())
        context.allowsUndo = false
        #expect(!isHeld())
        context.allowsUndo = true
        // Setting a value and setting it back are two steps, and leave nothing to save.
        func setBack() throws {
            let content = try content()
            content.name = "mine"
            content.name = "a"
        }
        try setBack()
        #expect(isHeld() && !context.hasChanges)
        let other = try #require(
            try context.fetch(Content.self).first { $0.id.number != stored.number })
        other.name = "b"
        #expect(isHeld())
        other.name = "c"
        #expect(!isHeld())
    }

    @Test func `a redone edit refers to the object that a new one became`() async throws {
        let existing = daemon.insert("Bucket", ["name": .string("there")])
        let content = try content()
        let bucket = try context.insert(Bucket.self)
        daemon.state.withLock { state in
            state.takenOver[bucket.id.number] = existing
            state.holdsSaves = true
        }
        let saving = Task { try await context.save() }
        while daemon.state.withLock({ $0.held.isEmpty }) { await Task.yield() }
        content.bucket = bucket
        context.undo()
        daemon.releaseSaves()
        _ = try await saving.value
        #expect(bucket.id.number == existing.number)
        context.redo()
        #expect(content.bucket === bucket)
        try await context.save()
        #expect(try saved("bucket") == .reference(existing))
    }
}
