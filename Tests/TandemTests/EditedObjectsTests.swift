import TandemModel
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

@MainActor @Suite struct EditedObjectsTests {
    @Test(arguments: 0..<8)
    func `edited objects are in the order of their first change, whatever is done`(
        run: Int
    ) throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        let context = try FakeDaemon(buckets).container().makeContext(name: "edits")
        context.allowsUndo = run % 2 == 0
        var contents: [Content] = []
        for size in 1...12 {
            contents.append(try context.insert(Content.self))
            contents[size - 1].size = size
        }
        try context.save()
        _ = try context.fetch(Content.self)
        for round in 0..<400 {
            try step(context, &contents, &random)
            let edited = context.editor.editedObjects
            let serials = edited.map(\.record.pending.serial)
            let isRight =
                Set(edited) == Set(contents.filter(\.hasChanges)) && serials == serials.sorted()
                && Set(serials).count == serials.count
                && !context.editor.hasPendingEdits == edited.isEmpty
            #expect(isRight, "TANDEM_SEED=\(seed) round \(round)")
            if !isRight { return }
        }
    }

    private func step(
        _ context: ManagedObjectContext, _ contents: inout [Content], _ random: inout SplitMix
    ) throws {
        let content = contents[random.next(contents.count)]
        switch random.next(20) {
        case 0: context.rollback()
        case 1: try context.save()
        case 2: contents.append(try context.insert(Content.self))
        case 3: context.delete(content)
        case 4: context.refresh(content, mergeChanges: false)
        case 5, 6, 7: context.undo()
        case 8, 9: context.redo()
        case 10... where content.isDeleted: break
        case 10..<14:
            let before = content.committedValues(forKeys: ["size"])["size"]
            if let before { content["size"] = before }
        default: content.size = random.next(4)
        }
    }

    @Test func `the objects of a refused save precede those edited meanwhile`() async throws {
        let daemon = try FakeDaemon(buckets)
        let context = daemon.container().makeContext(name: "edits")
        let contents = try (1...3).map { _ in try context.insert(Content.self) }
        try await context.save()
        for content in contents { content.name = "a" }
        daemon.state.withLock { $0.holdsSaves = true }
        daemon.state.withLock { $0.refusesSaves = TandemError(.validation, "no") }
        let save = Task { @MainActor in try await context.save() }
        while context.hasChanges { await Task.yield() }
        contents[2].name = "b"
        contents[0].name = "b"
        while daemon.state.withLock({ $0.held.isEmpty }) { await Task.yield() }
        daemon.releaseSaves()
        await #expect(throws: TandemError.self) { try await save.value }
        #expect(context.editor.editedObjects == contents)
        #expect(contents.map(\.name) == ["b", "a", "b"])
    }
}
