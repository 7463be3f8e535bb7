import TandemIO
import TandemModel
import TandemWire
import Testing

@testable import Tandem

@MainActor @Suite struct SaveRepeatTests {
    let daemon: FakeDaemon
    /// Whether connections are refused.
    let isAway = Locked(false)

    init() throws { daemon = try FakeDaemon(buckets) }

    private func context(attempts: Int = 5) -> ManagedObjectContext {
        var limits = ClientLimits()
        limits.requestAttempts = attempts
        limits.connectMilliseconds = 100
        let (transport, isAway) = (daemon.transport, isAway)
        let gate = Transport.connected {
            if isAway.withLock({ $0 }) { throw TandemError(.disconnected, "away") }
            return try transport.connect()
        }
        let context = PersistentContainer(author: "test", transport: gate, limits: limits)
            .makeContext(name: "test")
        context.connectPatiently()
        return context
    }

    private var saves: [SaveRequest] {
        daemon.state.withLock { state in
            state.requests.compactMap { if case .save(let save) = $0 { save } else { nil } }
        }
    }

    private func cutBeforeSaved() { daemon.state.withLock { $0.cutsBeforeSaved = true } }

    /// Inserts three objects: one that the daemon replaces by an existing one, one that it deletes,
    /// and one that it keeps.
    private func insert(
        into context: ManagedObjectContext, _ existing: ObjectReference
    ) throws -> [Content] {
        let objects = try (0..<3).map { _ in try context.insert(Content.self) }
        objects[2].name = "kept"
        daemon.state.withLock { state in
            state.takenOver[objects[0].id.number] = existing
            state.takenOver.updateValue(nil, forKey: objects[1].id.number)
        }
        return objects
    }

    private func check(_ objects: [Content], _ existing: ObjectReference) {
        #expect(objects[0].id.number == existing.number && objects[0].name == "there")
        #expect(objects[1].isDeleted && !objects[2].isDeleted)
        #expect(objects[2].name == "kept" && objects.allSatisfy { !$0.hasChanges })
        #expect(daemon.end.number == 2)
    }

    @Test(arguments: [false, true], [false, true])
    func `law 3: after a repeated save objects are those of the first answer`(
        isCut: Bool, isFollowed: Bool
    ) throws {
        let context = context()
        let existing = daemon.insert("Content", ["name": .string("there")])
        if isFollowed { _ = try context.fetch(Content.self) }
        let objects = try insert(into: context, existing)
        if isCut { cutBeforeSaved() }
        try context.save()
        check(objects, existing)
        #expect(saves.count == (isCut ? 2 : 1))
        let inserted = context.tools.lastReceipt?.inserted.map { $0?.number }
        #expect(inserted == [existing.number, nil, objects[2].id.number])
        #expect(
            context.tools.lastReceipt?.wrote == true && context.tools.lastReceipt?.isRepeat == isCut
        )
    }

    @Test func `law 3: a save found in the stream gives its objects the ids it assigned`() throws {
        let context = context(attempts: 1)
        let existing = daemon.insert("Content", ["name": .string("there")])
        _ = try context.fetch(Content.self)
        let objects = try insert(into: context, existing)
        cutBeforeSaved()
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.code == .unknownOutcome)
        try context.reach(daemon.end)
        check(objects, existing)
        try context.save()
        #expect(saves.count == 1)
    }

    @Test func `law 3: under an id that others may use the answer is requested again`() throws {
        let context = context(attempts: 1)
        let existing = daemon.insert("Content", ["name": .string("there")])
        _ = try context.fetch(Content.self)
        let objects = try insert(into: context, existing)
        cutBeforeSaved()
        #expect(throws: TandemError.self) { try context.save(saveID: [1]) }
        try context.reach(daemon.end)
        try context.save()
        check(objects, existing)
        #expect(saves.map(\.firstSentAt) == [nil, 1])
    }

    @Test func `law 3: a merged save whose id is forgotten is not repeated for ever`() throws {
        let context = context(attempts: 1)
        _ = try context.fetch(Content.self)
        let content = try context.insert(Content.self)
        cutBeforeSaved()
        #expect(throws: TandemError.self) { try context.save(saveID: [1]) }
        try context.reach(daemon.end)
        content.name = "next"
        daemon.state.withLock { $0.refusesSaves = TandemError(.unknownOutcome, "forgotten") }
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.code == .unknownOutcome && content.hasChanges)
        daemon.state.withLock { $0.refusesSaves = nil }
        try context.save()
        #expect(daemon.end.number == 2 && saves.count == 3 && !context.hasChanges)
    }

    @Test func `law 3: an unknown outcome stays unknown while the daemon can't be reached`() throws
    {
        let context = context(attempts: 1)
        let content = try context.insert(Content.self)
        content.name = "once"
        cutBeforeSaved()
        isAway.withLock { $0 = true }
        for _ in 0..<3 {
            let error = #expect(throws: TandemError.self) { try context.save() }
            #expect(error?.code == .unknownOutcome)
        }
        isAway.withLock { $0 = false }
        content.name = "twice"
        // A connection attempt that began earlier may still fail a save or two.
        while context.hasChanges {
            do {
                try context.save()
            } catch {
                try #require((error as? TandemError)?.code == .unknownOutcome)
            }
        }
        #expect(daemon.end.number == 2 && content.name == "twice" && !context.hasChanges)
        #expect(saves.count == 3 && saves[0].saveID == saves[1].saveID)
    }

    @Test func `law 8: edits made in flight to an object that is taken over are kept`()
        async throws
    {
        let context = context()
        let existing = daemon.insert("Content", ["name": .string("there")])
        _ = try await context.fetch(Content.self)
        let objects = try insert(into: context, existing)
        let bucket = try context.insert(Bucket.self)
        daemon.state.withLock { $0.holdsSaves = true }
        let saving = Task { try await context.save() }
        while daemon.state.withLock({ $0.held.isEmpty }) { await Task.yield() }
        objects[0].size = 5
        objects[0].bucket = bucket
        objects[1].size = 6
        objects[2].size = 7
        daemon.releaseSaves()
        _ = try await saving.value
        #expect(objects[0].id.number == existing.number && objects[0].size == 5)
        #expect(
            Set(context.updatedObjects.map(\.id)).isSuperset(of: [objects[0].id, objects[2].id]))
        #expect(!context.updatedObjects.contains { $0 === objects[1] })
        try await context.save()
        let row = daemon.state.withLock { $0.rows[existing.number]?.row }
        let entity = daemon.entity("Content")
        #expect(row?.uncheckedValue(entity.slot(of: "size") ?? 0, in: entity) == .int(5))
        #expect(objects[0].bucket == bucket && bucket.contents == [objects[0]])
        #expect(objects[2].size == 7 && !context.hasChanges)
    }

    @Test(arguments: [UInt64(0), 1, 2, 9])
    func `law 3: an interrupted save from below the floor in the welcome is not repeated`(
        floor: UInt64
    ) throws {
        let context = context()
        try context.connect()
        let content = try context.insert(Content.self)
        content.name = "once"
        cutBeforeSaved()
        daemon.state.withLock { $0.saveIDFloor = floor }
        // The save was first sent when the journal ended at 0, so its transaction is 1 or later.
        if floor > 1 {
            let error = #expect(throws: TandemError.self) { try context.save() }
            #expect(error?.code == .unknownOutcome)
            #expect(saves.count == 1)
            context.forgetInFlightSave()
        } else {
            try context.save()
            #expect(saves.map(\.firstSentAt) == [nil, 0])
        }
        #expect(daemon.end.number == 1 && !context.hasChanges)
    }

    @Test func `law 3: the receipt of a save can be read without saving`() throws {
        let hash = StableHash([1])
        let (one, two) = (context(), context())
        #expect(try one.tools.receipt(ofSave: [1], contentHash: hash) == nil)
        let content = try one.insert(Content.self)
        try one.tools.save(saveID: [1], contentHash: hash)
        let receipt = try #require(try two.tools.receipt(ofSave: [1], contentHash: hash))
        #expect(receipt.inserted == [content.id] && receipt.isRepeat && receipt.wrote)
        #expect(two.position == daemon.end && daemon.end.number == 1)
    }
}

final class Person: ManagedObject, ManagedEntity {
    @Managed("name") var name: String?
    @Managed("age") var age: Int?

    static let entity = Entity("Person") {
        Attribute("name", .string)
        Attribute("age", .int)
        Relationship("friends", to: "Person", inverse: "friends", toMany: true)
    }
}

@MainActor @Suite struct SameContentTests {
    let fixture: Fixture
    /// Contexts that stand for three processes; each has higher object numbers than the previous
    /// one.
    let contexts: [ManagedObjectContext]

    init() throws {
        let fixture = try Fixture([Person.self])
        self.fixture = fixture
        contexts = try (0..<3).map { _ in
            let context = fixture.container().makeContext(name: "c")
            try context.connect()
            return context
        }
    }

    @Test func `law 3: links have the same content whichever end has the lower number`() throws {
        let old = try contexts[1].insert(Person.self)
        let end = try contexts[1].save()
        var ids: [ObjectID] = []
        for context in [contexts[0], contexts[2]] {
            try context.reach(end)
            let new = try context.insert(Person.self)
            #expect((new.id < old.id) == ids.isEmpty)
            new.add(try context.existingObject(with: old.id), to: "friends")
            try context.save(saveID: [1])
            ids.append(new.id)
        }
        #expect(contexts[2].tools.lastReceipt?.isRepeat == true && ids[0] == ids[1])
    }

    @Test func `law 3: the order of edits and the additions of overwrite are not content`() throws {
        let people = try (0..<2).map { _ in try contexts[0].insert(Person.self) }
        let end = try contexts[0].save()
        for (context, order) in [(contexts[1], [0, 1]), (contexts[2], [1, 0])] {
            try context.reach(end)
            let mine = try people.map { try context.existingObject(with: $0.id) }
            for index in order { mine[index]["name"] = .string("\(index)") }
        }
        try contexts[1].save(policy: .overwrite, saveID: [1])
        people[0].age = 7
        try contexts[0].save(policy: .objectTrump)
        try contexts[2].save(policy: .overwrite, saveID: [1])
        #expect(contexts[2].tools.lastReceipt?.isRepeat == true)
        #expect(try contexts[2].existingObject(with: people[0].id)["age"] == .null)
        try contexts[2].reach(contexts[0].position ?? end)
        #expect(try contexts[2].existingObject(with: people[0].id)["age"] == .int(7))
    }
}
