import TandemDaemon
import TandemEmbedded
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Options of a fetch: related objects, rows, pending edits.
@MainActor @Suite struct PrefetchTests {
    private let daemon: EmbeddedDaemon
    private let script: ScriptedTransport
    private let writer: ManagedObjectContext
    private let context: ManagedObjectContext
    private let all = FetchRequest(entity: "Content", sort: ["size"])

    init() throws {
        daemon = try EmbeddedDaemon(.inMemory())
        script = ScriptedTransport(daemon.transport)
        func context(_ transport: Transport) -> ManagedObjectContext {
            PersistentContainer(entities: [Bucket.self, Content.self], transport: transport)
                .makeContext(name: "test")
        }
        let writer = context(daemon.transport)
        let buckets = try (0..<3).map { _ in try writer.insert(Bucket.self) }
        for size in 0..<30 {
            let content = try writer.insert(Content.self)
            content.size = size
            content.bucket = size < 29 ? buckets[size % 3] : nil
        }
        let end = try writer.save()
        self.writer = writer
        self.context = context(script.transport)
        try self.context.reach(end)
    }

    /// Returns the number of requests that `body` sends.
    private func asked<Result>(_ body: () throws -> Result) rethrows -> (Int, Result) {
        let before = script.readRequests
        let result = try body()
        return (script.readRequests - before, result)
    }

    private func sizes(_ contents: [ManagedObject]) -> [Int] {
        contents.compactMap { $0 as? Content }.flatMap { $0.bucket?.contents.map(\.size) ?? [] }
    }

    @Test func `each step of the longest path is one request, and reading sends none`() throws {
        let (count, found) = try asked {
            try context.fetch(all, prefetching: ["bucket", "bucket.contents"])
        }
        #expect(count == 3 && found.count == 30)
        let (read, sizes) = asked { self.sizes(found) }
        #expect(read == 0 && sizes.count == 2 * 100 + 9 * 9)
        // All of these are already loaded.
        #expect(try asked { try context.load(found, prefetching: ["bucket.contents"]) }.0 == 0)
    }

    @Test func `without prefetching every step of every object is a request`() throws {
        let found = try context.fetch(all)
        #expect(asked { sizes(found) }.0 > 2)
    }

    @Test func `members come with their rows`() throws {
        let (count, buckets) = try asked {
            try context.fetch(
                FetchRequest(entity: "Bucket"), prefetching: ["contents.bucket.contents"])
        }
        // The third step refers to objects that the first one loaded.
        #expect(count == 2)
        let (read, sum) = asked {
            buckets.compactMap { $0 as? Bucket }.flatMap(\.contents).map(\.size).reduce(0, +)
        }
        #expect(read == 0 && sum == (0..<29).reduce(0, +))
    }

    @Test func `edits are followed, also at a pin and in a child`() throws {
        try context.pin()
        let late = try writer.fetch(Bucket.self)[0]
        late.name = "late"
        try writer.save()
        let form = context.makeChild(name: "form")
        let last = try #require(try form.fetch(all).last as? Content)
        last.bucket = try form.fetch(Bucket.self)[0]
        let (count, found) = try asked {
            try form.fetch(all, prefetching: ["bucket.contents"])
        }
        #expect(count <= 3)
        let (read, sizes) = asked { self.sizes(found) }
        #expect(read == 0 && sizes.count == 121 + 100 + 81)
        #expect(last.bucket?.name.isEmpty == true)
    }

    @Test func `a key path that can't be prefetched is named in the error`() throws {
        let found = try context.fetch(all)
        for path in ["size", "nothing", "bucket.nothing", "", "bucket.", ".bucket", "bucket.name"] {
            let error = #expect(throws: TandemError.self, "\(path)") {
                try context.load(found, prefetching: [path])
            }
            #expect(error?.code == .unknownProperty && error?.message.contains("`") == true)
        }
        try context.load([ManagedObject](), prefetching: ["nothing"])
    }

    @Test func `batches prefetch related objects`() async throws {
        var asked: [Int] = []
        for try await batch in context.batches(
            for: FetchRequest(Content.self, sort: ["size"]), size: 10, prefetching: ["bucket"])
        {
            let before = script.readRequests
            asked.append(before)
            let names = batch.compactMap { $0.bucket?.name }
            #expect(Set(names) == [""])
            #expect(script.readRequests == before)
        }
        #expect(asked.count == 3 && asked[2] - asked[1] <= 2)
    }

    @Test func `ids are fetched without rows, with pending edits if requested`() async throws {
        let (count, ids) = try asked { try context.fetchIDs(all) }
        #expect(count == 1)
        #expect(ids.count == 30 && context.graph.count == 0)
        let contents = try await context.fetch(all).compactMap { $0 as? Content }
        #expect(contents.map(\.id) == ids)
        contents[0].size = 100
        context.delete(contents[1])
        let new = try context.insert(Content.self)
        new.size = -1
        let edited = [new.id] + ids[2...] + [ids[0]]
        #expect(try await context.fetchIDs(all) == edited)
        #expect(try await context.fetchIDs(all, includesPendingChanges: false) == ids)
        let fetched = try context.fetchedIDs(all)
        #expect(fetched.0 == edited && fetched.1 == ids)
        var few = all
        few.predicate = try ObjectPredicate(format: "size < 3")
        #expect(try await context.count(for: few) == 2)
        #expect(try await context.count(for: few, includesPendingChanges: false) == 3)
        let stored = try await context.fetch(few, includesPendingChanges: false)
        // The objects are selected by their saved values, and show their edits.
        #expect(stored.compactMap { ($0 as? Content)?.size } == [100, 1, 2] && stored[1].isDeleted)
    }
}

extension ManagedObjectContext {
    /// Returns the ids of blocking fetches, with and without pending edits.
    fileprivate func fetchedIDs(_ request: FetchRequest<ManagedObject>) throws -> (
        [ObjectID], [ObjectID]
    ) {
        let with = try fetch(request).map(\.id)
        let without = try fetch(request, includesPendingChanges: false).map(\.id)
        return (with, without)
    }
}
