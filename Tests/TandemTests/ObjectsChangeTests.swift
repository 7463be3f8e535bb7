import Tandem
import TandemModel
import Testing

/// The changes that a context reports of its objects, and their timing.
@MainActor @Suite struct ObjectsChangeTests {
    /// The changes reported since the last call, in order.
    final class Told {
        var changes: [ObjectsChange] = []

        func drain() -> [ObjectsChange] {
            defer { changes = [] }
            return changes
        }
    }

    let daemon: FakeDaemon
    let context: ManagedObjectContext
    let told = Told()
    let observation: ObjectsObservation

    init() throws {
        daemon = try FakeDaemon(buckets)
        context = daemon.container().makeContext(name: "changes")
        let told = told
        observation = context.onObjectsDidChange { told.changes.append($0) }
    }

    private func id(_ reference: ObjectReference) -> ObjectID {
        ObjectID(
            entity: daemon.model.entity(tagged: reference.tag)?.name ?? "", number: reference.number
        )
    }

    @Test func `a child is notified of deletions below it, and of merges there`() throws {
        let objects = (0..<3).map { daemon.insert("Content", ["size": .int(Int64($0))]) }
        _ = try context.fetch(FetchRequest(entity: "Content"))
        let child = context.makeChild(name: "child")
        let grandchild = child.makeChild(name: "grandchild")
        var heard: [ObjectsChange] = []
        let observation = grandchild.onObjectsDidChange { heard.append($0) }
        let shown = try objects.map { try grandchild.existingObject(with: id($0)) }
        func told() -> ObjectsChange? {
            grandchild.processPendingChanges()
            defer { heard = [] }
            return heard.count == 1 ? heard.first : nil
        }
        _ = told()
        daemon.delete(objects[0])
        daemon.update(objects[1], ["size": .int(9)])
        try context.reach(daemon.end)
        let merged = try #require(told())
        #expect(merged.deleted == [shown[0].id] && merged.refreshed == [shown[1].id])
        #expect(merged.merged.deleted == [shown[0].id] && merged.merged.updated == [shown[1].id])
        context.delete(try context.existingObject(with: shown[2].id))
        #expect(told()?.deleted == [shown[2].id])
        context.allowsUndo = true
        let new = try context.insert("Content")
        let mine = try grandchild.existingObject(with: new.id)
        _ = told()
        context.undo()
        #expect(told()?.deleted == [mine.id])
        context.redo()
        #expect(told()?.inserted == [mine.id])
        context.rollback()
        #expect(told()?.deleted == [mine.id])
        withExtendedLifetime(observation) {}
    }

    @Test func `edits are reported when they are processed, each object in one set`() throws {
        _ = daemon.insert("Content", ["size": .int(1)])
        _ = daemon.insert("Content", ["size": .int(2)])
        let found = try context.fetch(FetchRequest(entity: "Content", sort: ["size"]))
        context.processPendingChanges()
        _ = told.drain()
        let new = try context.insert(Content.self)
        new.name = "new"
        found[0]["name"] = .string("edited")
        found[1]["name"] = .string("edited")
        context.delete(found[1])
        let brief = try context.insert(Content.self)
        context.delete(brief)
        #expect(told.changes.isEmpty)
        context.processPendingChanges()
        let change = try #require(told.changes.first)
        #expect(change.inserted == [new.id] && change.updated == [found[0].id])
        #expect(change.deleted == [found[1].id] && change.refreshed.isEmpty)
        #expect(change.merged.isEmpty && change.position == context.position)
        context.processPendingChanges()
        #expect(told.changes.count == 1)
    }

    @Test func `merged updates are refreshed, and a merge reports all merged objects`() throws {
        let first = daemon.insert("Content", ["size": .int(1)])
        let second = daemon.insert("Content", ["size": .int(2)])
        let other = daemon.insert("Bucket", [:])
        let held = try context.fetch(FetchRequest(entity: "Content", sort: ["size"]))
        _ = try context.fetch(FetchRequest(entity: "Bucket"))
        _ = told.drain()
        held[0]["name"] = .string("mine")
        daemon.update(first, ["size": .int(5)])
        daemon.delete(second)
        daemon.update(other, ["name": .string("b")])
        let new = daemon.insert("Content", [:])
        try context.reach(daemon.end)
        let change = try #require(told.changes.first)
        #expect(told.changes.count == 1 && held.count == 2)
        #expect(change.updated == [id(first)] && change.refreshed.isEmpty)
        #expect(change.deleted == [id(second)] && change.inserted == [id(new)])
        #expect(change.merged.inserted == [id(new)] && change.merged.deleted == [id(second)])
        #expect(change.merged.updated == [id(first), id(other)])
        #expect(change.position == daemon.end)
        daemon.update(first, ["size": .int(6)])
        _ = told.drain()
        try context.reach(daemon.end)
        #expect(told.changes.map(\.refreshed) == [[id(first)]])
        #expect(told.changes.map(\.updated) == [[]])
    }

    @Test func `a save reports its edits first, and nothing for the save itself`() throws {
        let content = try context.insert(Content.self)
        content.size = 1
        try context.save()
        #expect(told.drain().map(\.inserted) == [[content.id]])
        content.size = 2
        try context.save()
        let change = told.drain()
        #expect(change.map(\.updated) == [[content.id]] && change.map(\.merged.isEmpty) == [true])
        context.delete(content)
        try context.save()
        #expect(told.drain().map(\.deleted) == [[content.id]])
    }

    @Test func `an edit that an observer makes before a save is saved and reported`() throws {
        let content = try context.insert(Content.self)
        let editor = context.onObjectsDidChange { change in
            if change.inserted.contains(content.id) { content.size = 7 }
        }
        try context.save()
        #expect(content.size == 7 && !context.hasChanges)
        #expect(told.drain().map(\.inserted) == [[content.id]])
        context.processPendingChanges()
        #expect(told.drain().map(\.updated) == [[content.id]])
        withExtendedLifetime(editor) {}
    }

    @Test func `an observer may save, and all observers receive one change before the next`() throws
    {
        _ = try context.fetch(Content.self)
        let content = try context.insert(Content.self)
        var heard: [String] = []
        let saver = context.onObjectsDidChange { [context] change in
            heard.append("saver \(change.inserted.count) \(change.updated.count)")
            if change.inserted.isEmpty { return }
            content.size = 7
            do { try context.save() } catch { heard.append("\(error)") }
        }
        let second = context.onObjectsDidChange { change in
            heard.append("second \(change.inserted.count) \(change.updated.count)")
        }
        try context.save()
        #expect(content.committedValues()["size"] == .int(7) && !context.hasChanges)
        context.processPendingChanges()
        #expect(heard == ["saver 1 0", "second 1 0", "saver 0 1", "second 0 1"])
        withExtendedLifetime((saver, second)) {}
    }

    @Test func `an object of others that is edited or deleted at once is in one set or none`()
        throws
    {
        _ = try context.fetch(Content.self)
        let content = try context.insert(Content.self)
        let new = (0..<3).map { daemon.insert("Content", ["size": .int(Int64($0))]) }
        let editor = context.onObjectsDidChange { [context, daemon, new] change in
            guard change.inserted == [content.id] else { return }
            do {
                try context.reach(daemon.end)
                let found = try context.fetch(
                    FetchRequest(Content.self, sort: [.ascending(\.size)]))
                #expect(
                    found.map(\.id.number).filter { $0 != content.id.number } == new.map(\.number))
                found.first { $0.id.number == new[0].number }?.name = "mine"
                found.first { $0.id.number == new[1].number }.map(context.delete)
            } catch { Issue.record(error) }
        }
        context.processPendingChanges()
        _ = told.drain()
        context.processPendingChanges()
        let change = try #require(told.drain().first)
        #expect(change.inserted == [id(new[0]), id(new[2])])
        #expect(change.updated.isEmpty && change.deleted.isEmpty && change.refreshed.isEmpty)
        #expect(change.merged.inserted == Set(new.map(id)))
        withExtendedLifetime(editor) {}
    }

    @Test func `undo, rollback, refresh and reset are reported`() throws {
        _ = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        context.processPendingChanges()
        _ = told.drain()
        func nextChange() throws -> ObjectsChange {
            context.processPendingChanges()
            return try #require(told.drain().first)
        }
        context.allowsUndo = true
        context.delete(content)
        #expect(try nextChange().deleted == [content.id])
        context.undo()
        #expect(try nextChange().inserted == [content.id])
        content.size = 2
        _ = try nextChange()
        context.rollback()
        #expect(try nextChange().refreshed == [content.id])
        let new = try context.insert(Content.self)
        _ = try nextChange()
        context.rollback()
        #expect(try nextChange().deleted == [new.id])
        context.refresh(content, mergeChanges: true)
        #expect(try nextChange().refreshed == [content.id])
        context.refreshAllObjects()
        #expect(try nextChange().refreshed == [content.id])
        context.reset()
        let last = try nextChange()
        #expect(last.invalidated == [content.id] && last.refreshed.isEmpty)
    }

    @Test func `a restart invalidates the known objects`() throws {
        let stored = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        _ = told.drain()
        daemon.state.withLock { state in
            state.epoch = 2
            state.expiresHistory = true
        }
        daemon.cutConnections()
        daemon.update(stored, ["size": .int(4)])
        try context.reach(daemon.end)
        #expect(told.drain().map(\.invalidated).contains([content.id]))
    }

    @Test func `edits are reported automatically, in a separate job`() async throws {
        let changes = context.objectsDidChange
        let content = try context.insert(Content.self)
        content.size = 3
        #expect(told.changes.isEmpty)
        for try await change in changes {
            #expect(change.inserted == [content.id])
            break
        }
        #expect(told.drain().count == 1)
    }

    @Test func `an observer that was cancelled or released receives nothing`() throws {
        observation.cancel()
        var others = 0
        do {
            _ = context.onObjectsDidChange { _ in others += 1 }
        }
        _ = try context.insert(Content.self)
        context.processPendingChanges()
        #expect(told.changes.isEmpty && others == 0)
    }
}
