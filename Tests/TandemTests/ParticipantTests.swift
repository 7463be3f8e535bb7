import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import Tandem

@MainActor @Suite struct ParticipantTests {
    let daemon: FakeDaemon
    let container: PersistentContainer
    let context: ManagedObjectContext
    let journal = Recorder.Journal()

    init() throws {
        daemon = try FakeDaemon(buckets)
        container = daemon.container()
        context = container.makeContext(name: "test")
    }

    @Test func `all participants step before any delivers`() throws {
        let (a, b) = (Recorder("a", journal), Recorder("b", journal))
        _ = try context.fetch(Content.self)
        context.participants.add(list: a)
        context.participants.add(list: b)
        _ = daemon.insert("Content", [:])
        try context.reach(daemon.end)
        #expect(journal.lines == ["a steps 0-1", "b steps 0-1", "a delivers", "b delivers"])
    }

    @Test func `a merge inside a delivery first completes the one around it`() throws {
        let (a, b) = (Recorder("a", journal), Recorder("b", journal))
        _ = try context.fetch(Content.self)
        context.participants.add(list: a)
        context.participants.add(list: b)
        let first = daemon.insert("Content", [:])
        a.onDeliver = { [daemon, context] in
            guard daemon.end.number == 1 else { return }
            daemon.update(first, ["size": .int(1)])
            try context.reach(daemon.end)
        }
        try context.reach(daemon.end)
        #expect(
            journal.lines == [
                "a steps 0-1", "b steps 0-1", "a delivers", "b delivers", "a steps 1-2",
                "b steps 1-2", "a delivers", "b delivers",
            ])
    }

    @Test func `verdicts extend the group to their position`() throws {
        let asker = Recorder("a", journal, wantsVerdicts: true)
        let other = Recorder("b", journal)
        let content = daemon.insert("Content", ["size": .int(1)])
        let object = try #require(try context.fetch(Content.self).first)
        context.participants.add(list: asker)
        context.participants.add(list: other)
        daemon.update(content, ["size": .int(2)])
        daemon.state.withLock { state in
            state.beforeVerdicts = [
                .update(
                    object: content, baseVersion: 0,
                    values: [SaveValue(slot: self.slot("size"), value: .int(3))], links: [])
            ]
        }
        try context.reach(daemon.end)
        #expect(object.size == 3)
        #expect(asker.groups.map(\.to) == [3] && asker.groups.map(\.changes.count) == [1])
        #expect(asker.verdicts == [[]] && other.verdicts == [nil])
    }

    @Test
    func `law 4: reads under a steady stream of saves answer at the context's position`()
        throws
    {
        let asker = Recorder("a", journal, wantsVerdicts: true)
        _ = daemon.insert("Content", ["size": .int(1)])
        _ = try context.fetch(Content.self)
        context.participants.add(list: asker)
        daemon.state.withLock { $0.isBusy = true }
        let found = try #require(try context.fetch(Content.self).first)
        #expect(context.position == daemon.end)
        #expect(found.version == daemon.end.number)
        // An answer at another position would leave the object a fault, and make an existing object
        // unknown.
        context.refresh(found, mergeChanges: true)
        #expect(try context.existingObject(with: found.id).isFault == false)
        #expect(context.position == daemon.end)
        #expect(try context.count(for: FetchRequest(entity: "Content")) == 1)
        let requests = daemon.state.withLock { $0.requests }
        let asked = requests.filter { if case .verdicts = $0 { true } else { false } }
        #expect(asked.count <= 6)
        #expect(asker.groups.map(\.to) == asker.groups.map(\.to).sorted())
    }

    @Test func `law 4: while a read is retried nothing is merged automatically`() async throws {
        let context = container.makeContext(name: "follows", mergesAutomatically: true)
        _ = try await context.fetch(Content.self)
        context.family.mergeDeferral.beginRepeatedRead()
        _ = daemon.insert("Content", [:])
        try await container.makeContext(name: "other").reach(daemon.end)
        await context.follower.followPushes()
        #expect(context.position?.number == 0 && context.family.mergeDeferral.hasDeferred)
        context.family.mergeDeferral.endRepeatedRead()
        await context.follower.followPushes()
        #expect(context.position == daemon.end)
    }

    @Test func `a failed automatic merge is reported, and the context restarts`() async throws {
        var limits = ClientLimits()
        limits.recentTransactions = 1
        let container = PersistentContainer(
            author: "reader", transport: daemon.transport, limits: limits)
        var events = container.connectionEvents.makeAsyncIterator()
        let context = container.makeContext(name: "follows", mergesAutomatically: true)
        let lines = OperationLogTests.Lines()
        context.log = OperationLog("merge", clock: ManualClock()) { lines.add($0) }
        let content = daemon.insert("Content", ["size": .int(1)])
        let found = try await context.fetch(Content.self)
        let object = try #require(found.first)
        #expect(object.size == 1)
        // More transactions than the ring holds: the rest is requested, and the request is refused.
        daemon.state.withLock { $0.refusesHistory = TandemError(.storage, "a disk error") }
        for size in 2..<12 { daemon.update(content, ["size": .int(Int64(size))]) }
        try await container.makeContext(name: "other").reach(daemon.end)
        await context.follower.followPushes()
        let event = await events.next(isolation: #isolation)
        #expect(event?.state == .mergeFailed)
        #expect(
            event?.reason.contains("follows") == true
                && event?.reason.contains("a disk error") == true)
        #expect(lines.drain().contains { $0.contains("merge") && $0.contains("a disk error") })
        #expect(!context.isStale && context.position == daemon.end)
        #expect(object.size == 11)
    }

    @Test func `a related row that can't be read fails the merge instead of being left out`()
        async throws
    {
        var events = container.connectionEvents.makeAsyncIterator()
        let context = container.makeContext(name: "follows", mergesAutomatically: true)
        let content = daemon.insert("Content", ["size": .int(1)])
        _ = try await context.fetch(Content.self)
        let asker = Recorder("a", journal, wantsVerdicts: true)
        context.participants.add(list: asker)
        let damaged = StoredObject(object: content, version: 1, row: Row(bytes: [1, 2, 3]))
        daemon.state.withLock { $0.related = [damaged] }
        daemon.update(content, ["size": .int(2)])
        try await container.makeContext(name: "other").reach(daemon.end)
        await context.follower.followPushes()
        let event = await events.next(isolation: #isolation)
        #expect(event?.state == .mergeFailed)
        #expect(event?.reason.contains("the row of Content/\(content.number)") == true)
        #expect(!context.isStale && context.position == daemon.end)
    }

    @Test func `an explicit merge of a related row that can't be read throws`() throws {
        let content = daemon.insert("Content", ["size": .int(1)])
        _ = try context.fetch(Content.self)
        let asker = Recorder("a", journal, wantsVerdicts: true)
        context.participants.add(list: asker)
        let damaged = StoredObject(object: content, version: 1, row: Row(bytes: [1, 2, 3]))
        daemon.state.withLock { $0.related = [damaged] }
        daemon.update(content, ["size": .int(2)])
        let error = #expect(throws: TandemError.self) { try context.reach(daemon.end) }
        #expect(error?.code == .storage && context.position?.number == 1)
    }

    @Test func `a context that can't merge for a while is stale until it can`() async throws {
        var limits = ClientLimits()
        limits.recentTransactions = 1
        let container = PersistentContainer(
            author: "reader", transport: daemon.transport, limits: limits)
        let context = container.makeContext(name: "follows", mergesAutomatically: true)
        let content = daemon.insert("Content", ["size": .int(1)])
        _ = try await context.fetch(Content.self)
        let before = context.position
        daemon.state.withLock { $0.refusesHistory = TandemError(.timeout, "too busy") }
        for size in 2..<12 { daemon.update(content, ["size": .int(Int64(size))]) }
        // All transactions arrive before the context can merge the first.
        let other = container.makeContext(name: "other")
        _ = try { () throws in try other.reach(daemon.end) }()
        await context.follower.followPushes()
        #expect(context.isStale && context.position == before)
        daemon.state.withLock { $0.refusesHistory = nil }
        await context.follower.followPushes()
        #expect(!context.isStale && context.position == daemon.end)
    }

    @Test func `law 8: a context that only inserts and saves releases saved objects`() throws {
        var limits = ClientLimits()
        limits.cachedRows = 16
        let saver = PersistentContainer(
            author: "saver", transport: daemon.transport, limits: limits)
        let context = saver.makeContext(name: "saver")
        for _ in 0..<100 {
            _ = try context.insert("Content")
            try context.save()
        }
        #expect(context.graph.count <= 2 * limits.cachedRows)
    }

    @Test func `a save changes rows and clears in-flight edits in one step`() throws {
        let recorder = Recorder("a", journal)
        _ = try context.fetch(Content.self)
        let content = try context.insert(Content.self)
        context.participants.add(list: recorder)
        try context.save()
        #expect(recorder.groups.map(\.to) == [1])
        #expect(content.record.inFlight.isEmpty && content.record.row != nil)
    }

    @Test func `an observer reports each save, before and after`() throws {
        let content = daemon.insert("Content", ["size": .int(1)])
        var seen: [ObservedSave] = []
        let predicate = try ObjectPredicate(format: "size > 5")
        let observer = try context.observe("Content", where: predicate) {
            if case .saved(let save) = $0 { seen.append(save) }
        }
        for size in [7, 8, 2, 3] { daemon.update(content, ["size": .int(Int64(size))]) }
        daemon.delete(content)
        try context.reach(daemon.end)
        #expect(seen.map(\.payload.position.number) == [2, 3, 4])
        #expect(seen.flatMap(\.updated).map(\.before) == [false, true, true])
        #expect(seen.flatMap(\.updated).map(\.after) == [true, true, false])
        observer.cancel()
    }

    @Test func `the content hash leaves out numbers and versions`() {
        let (size, bucket) = (slot("size"), slot("bucket"))
        func save(_ first: ObjectNumber, version: UInt64) -> [ObjectRecord] {
            let parent = record("Bucket", first + 1) { $0.kind = .insert }
            let child = record("Content", first) {
                $0.kind = .insert
                $0.values[bucket] = .reference(parent.reference)
            }
            let old = record("Content", 5) { $0.values[size] = .int(1) }
            old.store(Row(old.entity.defaults, of: old.entity, version: 1), version: version)
            return [parent, child, old]
        }
        func hash(_ records: some Sequence<ObjectRecord>) -> StableHash {
            SaveBuilder(model: daemon.model, policy: .error, records: Array(records)).contentHash()
        }
        let first = hash(save(100, version: 1))
        #expect(first == hash(save(900, version: 2)))
        #expect(first != hash(save(100, version: 1).dropLast()))
    }

    /// Returns the record that a context would have of an object with edits.
    private func record(
        _ entity: String, _ number: ObjectNumber, _ edit: (inout Edits) -> Void
    ) -> ObjectRecord {
        let entity = daemon.entity(entity)
        let record = ObjectRecord(ObjectReference(tag: entity.tag, number: number), entity)
        var edits = Edits()
        edits.serial = 1
        edit(&edits)
        record.replacePending(by: edits)
        return record
    }

    private func slot(_ name: String) -> Int { daemon.entity("Content").slot(of: name) ?? -1 }
}

@Suite(.ownThread) struct NetEffectTests {
    let model: CompiledModel
    let entity: CompiledEntity

    init() throws {
        model = try CompiledModel(buckets)
        entity = try #require(model.entity(named: "Content"))
    }

    private func row(_ size: Int64) -> Row {
        var values = entity.defaults
        values[slot] = .int(size)
        return Row(values, of: entity, version: 1)
    }

    private var slot: Int { entity.slot(of: "size") ?? 0 }
    private var object: ObjectReference { ObjectReference(tag: entity.tag, number: 1) }

    private func update(_ before: Int64, _ after: Int64) -> Change {
        Change(
            .update, object, changed: PropertyMask([slot]), row: row(after),
            before: [SlotValue(slot: slot, value: .int(before))])
    }

    private func group(_ changes: Change...) -> MergedGroup {
        let transactions = changes.enumerated().map {
            Transaction(position: UInt64($0 + 1), content: .objects([$1]))
        }
        return MergedGroup(
            from: 0, to: UInt64(changes.count), transactions: transactions, model: model)
    }

    @Test func `a value that was changed back is not a change, but the version rises`() {
        let group = group(update(1, 2), update(2, 1))
        #expect(group.changes.isEmpty && group.versions.others == [1: 2])
    }

    @Test func `two updates keep the first value before and the last row`() {
        let group = group(update(1, 2), update(2, 3))
        #expect(group.changes == [update(1, 3)])
    }

    @Test func `an object that was inserted and deleted has no net change`() {
        let insert = Change(.insert, object, changed: PropertyMask([slot]), row: row(1))
        let delete = Change(.delete, object, changed: PropertyMask([slot]), deleted: row(2))
        #expect(group(insert, update(1, 2), delete).changes.isEmpty)
    }

    @Test func `a deletion after an update shows the row before both`() {
        let delete = Change(.delete, object, changed: PropertyMask([slot]), deleted: row(2))
        #expect(group(update(1, 2), delete).changes.map(\.deleted) == [row(1)])
    }

    @Test func `links that were added and removed have no net change`() throws {
        let bucket = try #require(model.entity(named: "Bucket"))
        let contents = try #require(bucket.slot(of: "contents"))
        let owner = ObjectReference(tag: bucket.tag, number: 9)
        func touch(_ isAdded: Bool) -> Change {
            Change(
                .touch, owner, changed: PropertyMask([contents]),
                links: [LinkChange(slot: contents, target: object, isAdded: isAdded)])
        }
        #expect(group(touch(true), touch(false)).changes.isEmpty)
        #expect(group(touch(true), touch(false), touch(true)).changes == [touch(true)])
    }
}
