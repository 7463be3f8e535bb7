import Observation
import Synchronization
import TandemEmbedded
import TandemModel
import Testing

@testable import Tandem

/// Objects under `withObservationTracking`: reading a property observes that property, for edits
/// and merges alike.
@MainActor @Suite struct ObservationTests {
    /// Records whether a property that was read is about to change.
    final class Probe: Sendable {
        private let fired = Atomic<Bool>(false)
        var hasFired: Bool { fired.load(ordering: .relaxed) }

        init(_ read: () -> Void) {
            withObservationTracking(read) { [self] in fired.store(true, ordering: .relaxed) }
        }
    }

    let daemon: FakeDaemon
    let context: ManagedObjectContext

    init() throws {
        daemon = try FakeDaemon(buckets)
        context = daemon.container().makeContext(name: "observed")
    }

    private func content() throws -> Content {
        _ = daemon.insert("Content", ["name": .string("a"), "size": .int(1)])
        return try #require(try context.fetch(Content.self).first)
    }

    @Test func `a merge notifies only readers of the properties it changes`() throws {
        let content = try content()
        let name = Probe { _ = content.name }
        let size = Probe { _ = content["size"] }
        daemon.update(content.reference(in: daemon), ["size": .int(2)])
        try context.reach(daemon.end)
        #expect(size.hasFired && !name.hasFired && content.size == 2)
        // A reader of both properties is notified if either changes.
        let both = Probe { _ = (content.name, content.size) }
        daemon.update(content.reference(in: daemon), ["name": .string("b")])
        try context.reach(daemon.end)
        #expect(both.hasFired && name.hasFired)
    }

    /// The values seen by an observer that reads as soon as it is notified.
    @MainActor private final class Reader {
        private let content: Content
        private(set) var values: [Int] = []

        init(_ content: Content) {
            self.content = content
            withObservationTracking {
                _ = content.size
            } onChange: { [self] in
                MainActor.assumeIsolated { values.append(self.content.size) }
            }
        }
    }

    @Test func `a reader that reads when it is notified of a merge sees the whole merge`() throws {
        let fixture = try Fixture()
        defer { withExtendedLifetime(fixture) {} }
        let context = fixture.container("mine").makeContext(name: "mine")
        let content = try context.insert(Content.self)
        content.size = 1
        try context.save()
        // Only followed entities keep their rows.
        _ = try context.fetch(Content.self)
        content.size = 2
        let reader = Reader(content)
        #expect(reader.values.isEmpty)
        try context.save()
        // First an update in flight, then an insert.
        #expect(reader.values == [2])
        let new = try context.insert(Content.self)
        new.size = 3
        let other = Reader(new)
        let position = try context.save()
        #expect(other.values.allSatisfy { $0 == 3 } && context.position == position)
    }

    @Test func `after a failed save readers of the state are notified`() async throws {
        let fixture = try Fixture()
        defer { withExtendedLifetime(fixture) {} }
        let transport = ScriptedTransport(fixture.transport)
        let container = PersistentContainer(
            entities: fixture.types, author: "mine", transport: transport.transport)
        let context = container.makeContext(name: "mine")
        let other = fixture.container("other").makeContext(name: "other")
        let content = try context.insert(Content.self)
        let position = try await context.save()
        // An object that was never read has no conflicts.
        _ = try await context.fetch(Content.self)
        try await other.reach(position)
        let theirs = try await other.existingObject(with: content.id)
        theirs["size"] = .int(3)
        content.size = 2
        try await other.save()
        // Otherwise the answer might arrive before the probe reads.
        transport.hold()
        let flight = Task { @MainActor in try await context.save() }
        while context.saving.inFlight == nil { await Task.yield() }
        let state = Probe { _ = content.hasChanges }
        transport.release()
        await #expect(throws: TandemError.self) { try await flight.value }
        #expect(state.hasFired && content.hasChanges)
    }

    @Test func `an edit notifies readers of the property and of the state`()
        throws
    {
        let content = try content()
        let name = Probe { _ = content.name }
        let size = Probe { _ = content.size }
        let state = Probe { _ = content.hasChanges }
        content.size = 2
        #expect(size.hasFired && state.hasFired && !name.hasFired)
        let gone = Probe { _ = content.isDeleted }
        context.delete(content)
        #expect(gone.hasFired && name.hasFired)
    }

    @Test func `both ends of a relationship are notified`() throws {
        let content = try content()
        let bucket = try context.insert(Bucket.self)
        let contents = Probe { _ = bucket.contents }
        let name = Probe { _ = bucket.name }
        let end = Probe { _ = content.bucket }
        content.bucket = bucket
        #expect(contents.hasFired && end.hasFired && !name.hasFired)
        let left = Probe { _ = content.bucket }
        context.allowsUndo = true
        context.delete(bucket)
        #expect(left.hasFired && content.isDeleted)
        let back = Probe { _ = content.isDeleted }
        context.undo()
        #expect(back.hasFired && content.bucket === bucket)
    }

    @Test func `readers of a relationship are notified of a member's deletion and of its undo`()
        throws
    {
        let bucket = try context.insert(Bucket.self)
        let content = try context.insert(Content.self)
        content.bucket = bucket
        context.allowsUndo = true
        let contents = Probe { _ = bucket.contents }
        context.delete(content)
        #expect(contents.hasFired && bucket.contents.isEmpty)
        let again = Probe { _ = bucket.contents }
        context.undo()
        #expect(again.hasFired && bucket.contents == [content])
    }

    @Test func `dropping edits notifies all readers`() throws {
        let content = try content()
        content.name = "mine"
        let name = Probe { _ = content.name }
        context.rollback()
        #expect(name.hasFired && content.name == "a")
        let again = Probe { _ = content.name }
        context.refresh(content, mergeChanges: true)
        #expect(again.hasFired)
    }

    @Test func `a save notifies readers of the state, and of no unchanged value`() throws {
        let content = try content()
        content.size = 3
        let name = Probe { _ = content.name }
        let state = Probe { _ = content.hasChanges }
        try context.save()
        #expect(state.hasFired && !name.hasFired && content.size == 3)
    }
}

extension ManagedObject {
    /// Returns the daemon's reference to the object.
    fileprivate func reference(in daemon: FakeDaemon) -> ObjectReference {
        daemon.model.reference(to: id) ?? ObjectReference(tag: 0, number: 0)
    }
}
