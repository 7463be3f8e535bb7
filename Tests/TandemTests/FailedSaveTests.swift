import TandemModel
import Testing

@testable import Tandem

/// The state after a save that failed, or whose own transaction could not be merged.
@MainActor @Suite struct FailedSaveTests {
    let daemon: FakeDaemon
    let context: ManagedObjectContext

    init() throws {
        daemon = try FakeDaemon(buckets)
        context = daemon.container().makeContext(name: "failing")
        context.allowsUndo = true
    }

    /// Makes edits while a save is in flight that then fails.
    private func fail(during edit: () throws -> Void) async throws {
        daemon.state.withLock { state in
            state.holdsSaves = true
            state.refusesSaves = TandemError(.validation, "refused")
        }
        let saving = Task { try await context.save() }
        while daemon.state.withLock({ $0.held.isEmpty }) { await Task.yield() }
        try edit()
        daemon.releaseSaves()
        let error = await #expect(throws: TandemError.self) { _ = try await saving.value }
        #expect(error?.code == .validation)
        daemon.state.withLock { state in
            state.holdsSaves = false
            state.refusesSaves = nil
        }
    }

    @Test func `law 8: undo after a failed save keeps the edits that were in flight`() async throws
    {
        let content = try context.insert(Content.self)
        content.size = 3
        try await fail { content.name = "b" }
        context.undo()
        #expect(content.isInserted && content.size == 3 && content.name == "b")
        try await context.save()
        #expect(daemon.state.withLock { $0.rows.count } == 1)
    }

    /// The bucket had edits that cancelled each other out, and no longer counted as edited.
    @Test func `law 8: an edit after a failed save that was taken back is saved`() async throws {
        let content = try context.insert(Content.self)
        let bucket = try context.insert(Bucket.self)
        try await context.save()
        content.bucket = bucket
        try await fail { content.bucket = nil }
        bucket.name = "after"
        #expect(bucket.hasChanges && context.updatedObjects.contains(bucket))
        try await context.save()
        #expect(!context.hasChanges)
        let seen = try await daemon.container().makeContext(name: "other").fetch(Bucket.self)
        #expect(seen.map(\.name) == ["after"])
    }

    @Test func `law 8: an object deleted while its insert failed is forgotten`() async throws {
        let content = try context.insert(Content.self)
        let bucket = try context.insert(Bucket.self)
        content.bucket = bucket
        let kept = try context.insert(Content.self)
        try await fail { context.delete(bucket) }
        #expect(bucket.isDeleted && !bucket.hasChanges && context.deletedObjects.isEmpty)
        #expect(content.bucket == nil && kept.isInserted)
        try await context.save()
        #expect(!context.hasChanges && !kept.isInserted)
        #expect(daemon.state.withLock { $0.rows[bucket.id.number] } == nil)
    }

    @Test(arguments: [nil, [1]] as [[UInt8]?])
    func `law 3: a save that can't be merged is read again`(saveID: [UInt8]?) throws {
        var limits = ClientLimits()
        limits.recentTransactions = 1
        let context = PersistentContainer(transport: daemon.transport, limits: limits)
            .makeContext(name: "behind")
        let theirs = daemon.insert("Content", ["size": .int(1)])
        _ = try context.fetch(Content.self)
        for size in 2...5 { daemon.update(theirs, ["size": .int(Int64(size))]) }
        let content = try context.insert(Content.self)
        content.name = "once"
        daemon.state.withLock { $0.refusesHistory = TandemError(.limitExceeded, "too much") }
        let error = #expect(throws: TandemError.self) { try context.save(saveID: saveID) }
        #expect(error?.code == .unknownOutcome && context.saving.inFlight?.isUnknown == true)
        daemon.state.withLock { $0.refusesHistory = nil }
        try context.save()
        #expect(!context.hasChanges && content.name == "once" && daemon.end.number == 6)
        content.name = "twice"
        #expect(try context.save().number == 7)
    }

    @Test func `undo within a group is allowed`() throws {
        let content = try context.insert(Content.self)
        content.size = 1
        context.undoGroup {
            content.name = "a"
            context.undo()
            content.size = 2
        }
        #expect(content.name.isEmpty && content.size == 2)
        context.undo()
        #expect(content.size == 1 && content.isInserted)
    }

    @Test func `law 8: an edit made while another object is validated is not lost`() throws {
        let container = PersistentContainer(
            entities: [Meddler.self], transport: try FakeDaemon(meddlers).transport)
        let context = container.makeContext(name: "meddling")
        let all = try (0..<2).map { _ in try context.insert(Meddler.self) }
        try context.save()
        all[0].name = "first"
        all[0].other = all[1]
        try context.save()
        all[0].other = nil
        #expect(all[1].hasChanges && context.hasChanges)
        try context.save()
        #expect(all[1].name == "meddled" && !context.hasChanges)
    }
}

/// A class whose objects set another object while they are validated.
final class Meddler: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    var other: Meddler?

    static let entity = Entity("Meddler") { Attribute("name", .string, default: .string("")) }

    override func validate() throws { other?.name = "meddled" }
}

private let meddlers = ManagedObjectModel(Meddler.self)
