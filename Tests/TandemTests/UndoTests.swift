import Tandem
import Testing

/// A class that refuses names beginning with a space.
final class Strict: ManagedObject, ManagedEntity {
    @Managed("name") var name: String

    static let entity = Entity("Strict") { Attribute("name", .string) }

    override func validate() throws {
        if name.hasPrefix(" ") { throw TandemError(.validation, "a name begins with a letter") }
    }
}

@MainActor @Suite struct UndoTests {
    let context: ManagedObjectContext

    init() throws {
        context = try FakeDaemon(buckets).container().makeContext(name: "undo")
        context.allowsUndo = true
    }

    @Test func `steps are undone and redone in order`() throws {
        let content = try context.insert(Content.self)
        content.name = "a"
        content.name = "b"
        context.undo()
        #expect(content.name == "a")
        context.undo()
        context.undo()
        #expect(content.isDeleted && !context.hasChanges && !context.canUndo)
        context.redo()
        context.redo()
        #expect(content.name == "a" && content.isInserted && context.canRedo)
        content.name = "c"
        #expect(!context.canRedo)
    }

    @Test func `law 8: steps beyond the limit can't be undone`() throws {
        var limits = ClientLimits()
        limits.undoSteps = 2
        let container = PersistentContainer(
            transport: try FakeDaemon(buckets).transport, limits: limits)
        let context = container.makeContext(name: "short")
        context.allowsUndo = true
        let content = try context.insert(Content.self)
        for name in ["a", "b", "c"] { content.name = name }
        for name in ["b", "a", "a"] {
            context.undo()
            #expect(content.name == name)
        }
        #expect(!context.canUndo && content.isInserted)
    }

    @Test func `a group is one step, with both ends of a relationship`() throws {
        let bucket = try context.insert(Bucket.self)
        let content = try context.insert(Content.self)
        context.undoGroup {
            content.bucket = bucket
            content.size = 4
        }
        context.undo()
        #expect(content.bucket == nil && content.size == 0 && bucket.contents.isEmpty)
        context.redo()
        #expect(content.bucket === bucket && content.size == 4 && bucket.contents == [content])
    }

    @Test func `a deletion is undone, a save forgets all steps`() throws {
        let content = try context.insert(Content.self)
        content.name = "kept"
        context.delete(content)
        context.undo()
        #expect(content.isInserted && content.name == "kept")
        try context.save()
        #expect(!context.canUndo && content.name == "kept")
        context.delete(content)
        context.undo()
        #expect(!content.isDeleted && !context.hasChanges)
    }

    @Test func `no undo steps are recorded unless enabled`() throws {
        let context = try FakeDaemon(buckets).container().makeContext(name: "plain")
        let content = try context.insert(Content.self)
        content.name = "a"
        #expect(!context.allowsUndo && !context.canUndo)
        context.undo()
        #expect(content.name == "a")
    }

    @Test func `undoing an edit keeps the values that others saved`() throws {
        let daemon = try FakeDaemon(buckets)
        let stored = daemon.insert("Content", ["name": .string("a"), "size": .int(1)])
        let context = daemon.container().makeContext(name: "undo")
        context.allowsUndo = true
        let content = try #require(try context.fetch(Content.self).first)
        content.name = "mine"
        daemon.update(stored, ["name": .string("theirs"), "size": .int(2)])
        try context.reach(daemon.end)
        #expect(content.name == "mine" && content.size == 2)
        context.undo()
        #expect(content.name == "theirs" && content.size == 2 && !context.hasChanges)
        context.redo()
        #expect(content.name == "mine" && context.updatedObjects == [content])
    }

    @Test func `deletions by others can't be undone`() throws {
        let daemon = try FakeDaemon(buckets)
        let stored = daemon.insert("Content", [:])
        let context = daemon.container().makeContext(name: "undo")
        context.allowsUndo = true
        let content = try #require(try context.fetch(Content.self).first)
        content.name = "mine"
        daemon.delete(stored)
        try context.reach(daemon.end)
        #expect(content.isDeleted && !context.canUndo && !context.canRedo)
    }

    @Test func `rollback drops edits and steps, and reset also the registered objects`() throws {
        let daemon = try FakeDaemon(buckets)
        _ = daemon.insert("Content", ["name": .string("a")])
        let context = daemon.container().makeContext(name: "undo")
        context.allowsUndo = true
        let content = try #require(try context.fetch(Content.self).first)
        func edit() throws -> ManagedObject {
            content.name = "mine"
            context.delete(content)
            return try context.insert(Content.self)
        }
        let first = try edit()
        context.rollback()
        #expect(first.isDeleted && !content.isDeleted && !content.isFault && content.name == "a")
        #expect(!context.hasChanges && !context.canUndo && !context.canRedo)
        let second = try edit()
        context.reset()
        #expect(second.isDeleted && content.isFault && !context.hasChanges && !context.canUndo)
        #expect(content.name == "a" && !content.isDeleted)
    }

    @Test func `refreshing keeps the undo steps of the edits that it keeps`() throws {
        let daemon = try FakeDaemon(buckets)
        _ = daemon.insert("Content", ["name": .string("a")])
        let context = daemon.container().makeContext(name: "undo")
        context.allowsUndo = true
        let content = try #require(try context.fetch(Content.self).first)
        content.name = "mine"
        context.refresh(content, mergeChanges: true)
        context.undo()
        #expect(content.name == "a" && !context.hasChanges)
        context.redo()
        context.refresh(content, mergeChanges: false)
        #expect(content.name == "a" && !context.canUndo)
    }

    @Test func `an object may refuse to be saved`() throws {
        let context = try FakeDaemon(ManagedObjectModel(Strict.self)).container().makeContext(
            name: "strict")
        let object = try context.insert(Strict.self)
        object.name = " x"
        #expect(throws: TandemError.self) { try context.save() }
        object.name = "x"
        #expect(try context.save().number == 1)
    }
}
