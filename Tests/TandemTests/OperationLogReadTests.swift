import TandemIO
import TandemModel
import TandemQuery
import TestWorlds
import Testing

@testable import Tandem

/// The lines of `TANDEM_DEBUG` about requests other than plain fetches, faults and saves.
@MainActor @Suite struct OperationLogReadTests {
    private let fixture: Fixture
    private let writer: ManagedObjectContext
    private let reader: ManagedObjectContext
    private let lines = OperationLogTests.Lines()

    init() throws {
        fixture = try Fixture()
        var limits = ClientLimits()
        limits.windowSlack = 1
        let container = PersistentContainer(
            entities: fixture.types, author: "reader", transport: fixture.transport, limits: limits)
        writer = fixture.container("writer").makeContext(name: "w")
        reader = container.makeContext(name: "r")
        let lines = lines
        reader.log = OperationLog("fetch,fault,save", clock: ManualClock()) { lines.add($0) }
    }

    @Test func `a read of the past is a line of its own, with the position that was read`() throws {
        _ = try writer.insert(Content.self)
        let first = try writer.save()
        _ = try writer.insert(Content.self)
        let second = try writer.save()
        try reader.reach(second)
        let request = FetchRequest(entity: "Content")
        #expect(try reader.fetch(request, at: first).count == 1)
        #expect(try reader.count(for: request, at: first) == 1)
        let line =
            "tandem fetch: context=r position=\(second.number) entity=Content where=- count=1 "
            + "at=\(first.number) ms=0.000\n"
        #expect(lines.drain() == [line, line])
        #expect(throws: TandemError.self) {
            try reader.fetch(FetchRequest(entity: "Nothing"), at: first)
        }
        #expect(lines.drain().map { $0.hasPrefix("tandem fetch: context=r error=") } == [true])
    }

    @Test func `fetched ids and values are counted`() throws {
        for size in 0..<3 { try writer.insert(Content.self).size = size }
        try reader.reach(try writer.save())
        let request = FetchRequest(entity: "Content")
        #expect(try reader.fetchIDs(request).count == 3)
        let columns = FetchColumns(["@count"])
        #expect(try reader.fetchDictionaries(request, columns).count == 1)
        #expect(try reader.count(for: request) == 3)
        let told = lines.drain()
        #expect(told.count == 3)
        for (line, count) in zip(told, [3, 1, 3]) {
            #expect(line.hasPrefix("tandem fetch: ") && line.contains(" count=\(count) "))
        }
    }

    @Test func `opening a list from its cache is logged as a fetch`() throws {
        reader.core.cacheDirectory = fixture.cacheDirectory
        func open() throws -> FetchedResultsController<ManagedObject> {
            let list = try FetchedResultsController(
                fetchRequest: FetchRequest(entity: "Content", sort: ["name"]), context: reader,
                cacheName: "list")
            try list.performFetch()
            return list
        }
        try writer.insert(Content.self).name = "a"
        try writer.save()
        _ = try open()
        try writer.insert(Content.self).name = "b"
        let end = try writer.save()
        _ = lines.drain()
        let list = try open()
        #expect(list.fetches == 0 && list.numberOfObjects == 2)
        let start = "tandem fetch: context=r position="
        #expect(lines.drain().map { $0.hasPrefix(start) && $0.contains(" verdicts=1 ") } == [true])
        #expect(reader.position == end)
    }

    @Test func `a long text that is read is a fault`() throws {
        let content = try writer.insert(Content.self)
        content.name = String(repeating: "x", count: 70_000)
        let end = try writer.save()
        let seen = try #require(try reader.fetch(Content.self).first)
        _ = lines.drain()
        #expect(seen.name.count == 70_000 && seen.name == content.name)
        #expect(
            lines.drain() == [
                "tandem fault: context=r position=\(end.number) content=70000 ms=0.000\n"
            ])
    }

    @Test func `a batch is logged as a save with all of its effects`() throws {
        let rows = (0..<3).map { BatchValues(["size": .int(Int64($0))]) }
        let inserted = try reader.execute(BatchInsertRequest(entity: "Content", rows: rows))
        let updated = try reader.execute(
            BatchUpdateRequest(Content.self, where: .text("size > 0"), set: ["size": 9]))
        let deleted = try reader.execute(BatchDeleteRequest(Content.self, where: .text("size < 9")))
        let did = [("insert", inserted, 3), ("update", updated, 2), ("delete", deleted, 1)]
        #expect(
            lines.drain()
                == did.map { kind, result, count in
                    "tandem save: context=r position=\(result.position.number) batch=\(kind) "
                        + "entity=Content objects=\(count) ms=0.000\n"
                })
    }

    private func list(
        _ format: String?, of entity: String, limit: Int? = nil
    ) throws -> FetchedResultsController<ManagedObject> {
        var request = FetchRequest(entity: entity, sort: ["name"], limit: limit)
        request.predicate = try format.map { try ObjectPredicate(format: $0) }
        let list = try FetchedResultsController(fetchRequest: request, context: reader)
        try list.performFetch()
        return list
    }

    private func move(to position: Position, _ isPinned: Bool) throws {
        if isPinned { try reader.pin(at: position) } else { try reader.reach(position) }
    }

    @Test(arguments: [false, true])
    func `requests that lists send while they are merged are logged`(_ isPinned: Bool) throws {
        let content = try writer.insert(Content.self)
        content.name = "a"
        let second = try writer.insert(Content.self)
        second.name = "b"
        try writer.insert(Content.self).name = "c"
        let bucket = try writer.insert(Bucket.self)
        let start = try writer.save()
        if isPinned { try reader.pin(at: start) }
        let any = try list("ANY contents.size > 5", of: "Bucket")
        let window = try list(nil, of: "Content", limit: 1)
        #expect(any.fetchedObjects.isEmpty && window.fetchedObjects.count == 1)
        _ = lines.drain()
        content.bucket = bucket
        content.size = 9
        let end = try writer.save()
        try move(to: end, isPinned)
        let verdicts = "tandem fetch: context=r position=\(start.number) lists="
        #expect(lines.drain().contains { $0.hasPrefix(verdicts) && $0.contains(" verdicts=") })
        #expect(any.fetchedObjects.count == 1)
        writer.delete(content)
        writer.delete(second)
        let gone = try writer.save()
        try move(to: gone, isPinned)
        let refill =
            "tandem fetch: context=r position=\(end.number) entity=Content where=- count="
        #expect(lines.drain().contains { $0.hasPrefix(refill) && $0.contains(" lists=1 ") })
        #expect(window.fetchedObjects.map { $0["name"] } == [.string("c")])
    }
}
