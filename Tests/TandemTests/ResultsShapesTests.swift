import TandemIO
import TandemModel
import TandemResults
import Testing

@testable import Tandem

/// The forms in which a list and its changes are delivered.
@MainActor @Suite struct ResultsShapesTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext

    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
    }

    private func save(_ names: String...) throws {
        for name in names { try writer.insert(Content.self).name = name }
        try reader.reach(try writer.save())
    }

    private func controller(sections: String? = nil) throws -> FetchedResultsController<
        ManagedObject
    > {
        try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["name"]), context: reader,
            sectionNameKeyPath: sections)
    }

    private final class SnapshotReader: FetchedResultsSnapshotDelegate {
        var snapshots: [FetchedResultsSnapshot] = []
        var others = 0

        func controller(
            _ controller: FetchedResultsController<ManagedObject>,
            didChangeContentWith snapshot: FetchedResultsSnapshot
        ) { snapshots.append(snapshot) }

        func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
            others += 1
        }
    }

    @Test
    func `a snapshot delegate receives the first list, later ones and refetches, and nothing else`()
        throws
    {
        let controller = try controller(sections: "name")
        let delegate = SnapshotReader()
        controller.delegate = delegate
        try controller.performFetch()
        #expect(delegate.snapshots.map(\.sections.count) == [0])
        try save("a", "b")
        let b = try #require(try writer.fetch(Content.self, sort: ["name"]).last)
        b.size = 3
        try save()
        #expect(delegate.snapshots.last?.sections.map(\.name) == ["a", "b"])
        #expect(delegate.snapshots.last?.reloaded == [b.id])
        try controller.performFetch()
        #expect(delegate.snapshots.count == 4)
        #expect(delegate.snapshots.last?.sections == delegate.snapshots[2].sections)
        #expect(delegate.others == 0)
    }

    private final class DifferenceReader: FetchedResultsDifferenceDelegate {
        var ids: [ObjectID] = []
        var updated: [ObjectID] = []
        var others = 0

        func controller(
            _ controller: FetchedResultsController<ManagedObject>,
            didChangeContentWith difference: CollectionDifference<ObjectID>, updated: [ObjectID]
        ) {
            self.ids = ids.applying(difference) ?? []
            self.updated += updated
        }

        func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
            others += 1
        }
    }

    @Test
    func `a difference applied to the old ids gives the new ones, and updates are separate`()
        throws
    {
        try save("b", "d", "f")
        let controller = try controller()
        let delegate = DifferenceReader()
        try controller.performFetch()
        controller.delegate = delegate
        delegate.ids = controller.fetchedObjectIDs
        let all = try writer.fetch(Content.self, sort: ["name"])
        all[0].name = "z"
        all[1].size = 1
        writer.delete(all[2])
        try save("a", "e")
        #expect(delegate.ids == controller.fetchedObjectIDs)
        #expect(delegate.updated == [all[1].id])
        #expect(delegate.others == 0)
    }

    @Test func `a difference delegate of a list with sections receives the single changes`() throws
    {
        let controller = try controller(sections: "name")
        let delegate = DifferenceReader()
        try controller.performFetch()
        controller.delegate = delegate
        try save("a")
        #expect(delegate.others == 1)
        // The same holds for changes within the first section.
        var differences = 0
        controller.onChange = { differences += $0.collectionDifference == nil ? 0 : 1 }
        try save("a")
        try #require(try writer.fetch(Content.self).first).size = 1
        try save()
        #expect(delegate.others == 3 && delegate.ids.isEmpty && delegate.updated.isEmpty)
        #expect(differences == 0)
    }

    @Test func `a closure receives the first load, marked as such, and later changes`() throws {
        try save("a")
        let controller = try controller()
        var heard: [Bool] = []
        controller.onChange = { heard.append($0.isFirstLoad) }
        try controller.performFetch()
        try save("b")
        try controller.performFetch()
        #expect(heard == [true, false])
    }

    private final class Titles: FetchedResultsControllerDelegate {
        func controller(
            _ controller: FetchedResultsController<ManagedObject>,
            sectionIndexTitleForSectionName name: String
        ) -> String? { name == "Ö" ? "O" : nil }
    }

    @Test func `index titles map to their sections, also if several titles are equal`() throws {
        try save("ab", "ac", "b", "Ö", "")
        let controller = try controller(sections: "name")
        let titles = Titles()
        controller.delegate = titles
        try controller.performFetch()
        #expect(controller.sectionIndexTitles == ["", "A", "A", "B", "O"])
        #expect(controller.section(forSectionIndexTitle: "A", at: 2) == 2)
        #expect(controller.section(forSectionIndexTitle: "A", at: 7) == 1)
        #expect(controller.section(forSectionIndexTitle: "x", at: 0) == nil)
    }

    @Test func `sections and the flat list are views of one structure`() throws {
        try save("a", "b", "b", "c")
        let controller = try controller(sections: "name")
        try controller.performFetch()
        let ranges = controller.sectionRanges
        #expect(ranges.map(\.range) == [0..<1, 1..<3, 3..<4])
        for (section, range) in zip(controller.sections, ranges) {
            #expect(controller.objectIDs(in: range.range) == section.objectIDs)
        }
        let all = controller.fetchedObjectIDs
        #expect(controller.objectIDs(in: -1..<9) == all)
        #expect(all.map { controller.offset(of: $0) } == [0, 1, 2, 3])
        #expect((0..<4).map { controller.object(atOffset: $0).id } == all)
    }

    @Test func `the signal coalesces all changes since the last one`()
        async throws
    {
        let controller = try controller()
        try await controller.performFetch()
        var signals = controller.signals().makeAsyncIterator()
        try save("a")
        try save("b")
        await signals.next(isolation: #isolation)
        #expect(controller.numberOfObjects == 2)
        try save("c")
        await signals.next(isolation: #isolation)
        #expect(controller.numberOfObjects == 3)
    }

    @Test func `reading a list row by row loads windows around the rows read`()
        throws
    {
        for number in 0..<1_000 { try writer.insert(Content.self).size = number }
        try writer.save()
        var limits = ClientLimits()
        // The rows that come with the fetch of such a long list are not kept.
        limits.cachedRows = 400
        let container = PersistentContainer(
            entities: fixture.types, author: "narrow", transport: fixture.transport, limits: limits)
        let context = container.makeContext(name: "narrow")
        let lines = Locked<[String]>([])
        context.log = OperationLog("fault") { line in lines.withLock { $0.append(line) } }
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["size"]), context: context)
        try list.performFetch()
        #expect(
            (500..<564).map { list.object(atOffset: $0)["size"] } == (500..<564).map { .int($0) })
        #expect(lines.withLock(\.count) <= 2)
        for offset in 0..<1_000 {
            #expect(list.object(atOffset: offset)["size"] == .int(Int64(offset)))
        }
        #expect(lines.withLock(\.count) <= 2 + 1_000 / 32)
    }

    @Test func `law 4: a long list that is fetched twice while it opens stays up to date`()
        async throws
    {
        let bucket = try writer.insert(Bucket.self)
        for number in 0..<100 {
            let content = try writer.insert(Content.self)
            (content.size, content.bucket) = (number, bucket)
        }
        try await writer.save()
        var limits = ClientLimits()
        limits.cachedRows = 8
        let container = PersistentContainer(
            entities: fixture.types, author: "narrow", transport: fixture.transport, limits: limits)
        let context = container.makeContext(name: "narrow")
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["bucket.name", "size"]),
            context: context, sectionNameKeyPath: "bucket.name")
        let fetches = (0..<3).map { _ in Task { try await list.performFetch() } }
        for fetch in fetches { try await fetch.value }
        bucket.name = "x"
        try writer.insert(Content.self).size = 1_000
        try await context.reach(try await writer.save())
        #expect(list.error == nil)
        #expect(list.sections.map(\.name) == ["", "x"])
        #expect(list.sections.map(\.numberOfObjects) == [1, 100])
        // The sections are changed while the list opens.
        let fetch = Task { try await list.performFetch() }
        await Task.yield()
        list.sectionNameKeyPath = nil
        try await list.performFetch()
        _ = try? await fetch.value
        #expect(list.sections.map(\.numberOfObjects) == [101])
    }

    @Test func `a change has its reasons: own properties, and key paths to related objects`() throws
    {
        let (near, far) = (try writer.insert(Bucket.self), try writer.insert(Bucket.self))
        (near.name, far.name) = ("a", "b")
        for (index, bucket) in [near, near, far].enumerated() {
            let content = try writer.insert(Content.self)
            (content.size, content.bucket) = (index, bucket)
        }
        try writer.save()
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: "Content", predicate: try ObjectPredicate(format: "size < 10"),
                sort: ["bucket.name", "size"]),
            context: reader, sectionNameKeyPath: "bucket.name")
        try list.performFetch()
        var causes: [[ChangeCause]] = []
        list.onChange = { change in
            causes.append(change.change.objects.map { change.cause(of: $0) })
        }
        near.name = "c"
        try reader.reach(try writer.save())
        #expect(
            causes.last == .init(repeating: ChangeCause(keyPaths: ["bucket.name"]), count: 2))
        let last = try #require(try writer.fetch(Content.self, sort: ["-size"]).first)
        (last.size, last.name) = (5, "x")
        try reader.reach(try writer.save())
        #expect(causes.last == [ChangeCause(properties: ["name", "size"])])
        last.size = 50
        try reader.reach(try writer.save())
        #expect(causes.last == [ChangeCause(properties: ["size"])])
        (list.fetchedObjects.first as? Content)?.name = "mine"
        reader.processPendingChanges()
        #expect(causes.last == [ChangeCause(properties: ["name"])])
    }

    @Test func `counts and sums of sections are kept up to date, edits included`() throws {
        for (name, size) in [("a", 1), ("a", 2), ("b", 40)] {
            let content = try writer.insert(Content.self)
            (content.name, content.size) = (name, size)
        }
        try writer.save()
        let list = try controller(sections: "name")
        list.sumProperties = ["size"]
        try list.performFetch()
        #expect((0..<2).map { list.sum(of: "size", inSection: $0) } == [.int(3), .int(40)])
        let all = try writer.fetch(Content.self, sort: ["size"])
        all[1].name = "b"
        all[0].size = 5
        try reader.reach(try writer.save())
        #expect(list.sectionRanges.map(\.range.count) == [1, 2])
        #expect((0..<2).map { list.sum(of: "size", inSection: $0) } == [.int(5), .int(42)])
        (list.fetchedObjects.last as? Content)?.size = 1
        try #require(list.fetchedObjects.first as? Content).size = 7
        reader.processPendingChanges()
        #expect(
            list.sum(of: "size")
                == .int(
                    list.fetchedObjects.reduce(0) { sum, object in
                        sum + ((object as? Content).map { Int64($0.size) } ?? 0)
                    }))
        reader.rollback()
        reader.processPendingChanges()
        #expect(list.sum(of: "size") == .int(47))
        writer.delete(all[2])
        try reader.reach(try writer.save())
        #expect(list.sum(of: "size") == .int(7))
        #expect(list.sum(of: "name") == nil)
        list.sumProperties = ["name"]
        #expect(throws: TandemError.self) { try list.performFetch() }
        #expect(list.sum(of: "size") == .int(7))
        #expect(ResultsSums.sum(of: [.int(.max), .int(1)]) == .double(0x1p63))
    }
}
