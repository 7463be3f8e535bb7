import TandemDaemon
import TandemEmbedded
import TandemModel
import TandemQuery
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// Fetches that are iterated in batches.
@MainActor @Suite struct FetchBatchesTests {
    private let fixture: Fixture
    private let script: ScriptedTransport
    private let writer: ManagedObjectContext
    private let bucket: Bucket
    private let contents: [Content]
    private let all = FetchRequest(entity: "Content", sort: ["size"])

    init() throws {
        fixture = try Fixture()
        script = ScriptedTransport(fixture.transport)
        let writer = fixture.container("writer").makeContext(name: "writer")
        bucket = try writer.insert(Bucket.self)
        bucket.name = "old"
        let bucket = bucket
        contents = try (0..<20).map { size in
            let content = try writer.insert(Content.self)
            content.size = size
            content.bucket = bucket
            return content
        }
        try writer.save()
        self.writer = writer
    }

    /// Returns a context connected through the script, with few ids per window.
    private func context(listed: Int = 7, mergesAutomatically: Bool = false) -> ManagedObjectContext
    {
        var limits = ClientLimits()
        limits.listedReferences = listed
        // An answer is held until the test runs again, which takes a long time if many tests wait
        // for the main actor.
        limits.answerMilliseconds = 3_600_000
        return PersistentContainer(
            entities: [Bucket.self, Content.self], author: "reader",
            transport: script.transport, limits: limits
        ).makeContext(name: "reader", mergesAutomatically: mergesAutomatically)
    }

    /// Returns the number of pins of the readers' connections, from the daemon's status after all
    /// earlier requests.
    private func pins(_ context: ManagedObjectContext) throws -> Int64 {
        guard case .status(let text) = try context.connection.answer(.status).get() else {
            return -1
        }
        let clients = try JSON(parsing: text)["clients"]?.array ?? []
        return clients.compactMap { $0["pins"]?.int }.reduce(0, +)
    }

    /// Changes every object, deletes one and inserts one.
    private func stir() throws {
        bucket.name += "er"
        for content in contents where !content.isDeleted { content.size += 100 }
        writer.delete(try #require(contents.last { !$0.isDeleted }))
        try writer.insert(Content.self).size = -1
        try writer.save()
    }

    @Test func `all batches, and the objects related to theirs, are as they were at one position`()
        async throws
    {
        let context = context()
        var (sizes, counts): ([Int], [Int]) = ([], [])
        for try await batch in context.batches(
            for: FetchRequest(Content.self, sort: ["size"]), size: 3)
        {
            try stir()
            #expect(batch.allSatisfy { $0.bucket?.name == "old" })
            sizes += batch.map(\.size)
            counts.append(batch.count)
        }
        #expect(sizes == Array(0..<20))
        // A window of seven ids has two batches of three and one batch of one.
        #expect(counts == [3, 3, 1, 3, 3, 1, 3, 3])
        #expect(try await context.fetch(all).count == 20 - 8 + 8)
        #expect(try pins(context) == 0)
    }

    @Test func `any batch size and any window return what a fetch returns`() async throws {
        let seed = TestSeed.value(or: 20_261_121)
        var random = SplitMix64(seed: seed)
        for _ in 0..<12 {
            let context = context(listed: Int.random(in: 1...25, using: &random))
            var request = all
            request.predicate = try ObjectPredicate(format: "size > 2")
            request.offset = Int.random(in: 0...20, using: &random)
            request.limit =
                Bool.random(using: &random) ? nil : Int.random(in: 0...22, using: &random)
            let size = Int.random(in: 1...9, using: &random)
            var (ids, objects): ([ObjectID], [ObjectID]) = ([], [])
            for try await batch in context.idBatches(for: request, size: size) {
                #expect(!batch.isEmpty && batch.count <= size)
                ids += batch
            }
            for try await batch in context.batches(for: request, size: size) {
                objects += batch.map(\.id)
            }
            let expected = try await context.fetch(request).map(\.id)
            #expect(ids == expected && objects == expected, "seed \(seed): \(request), \(size)")
        }
    }

    @Test func `no request is sent before it is needed, and at most one batch is held`()
        async throws
    {
        let context = context(listed: 100)
        let batches = context.batches(for: FetchRequest(Content.self, sort: ["size"]), size: 4)
        #expect(script.readRequests == 0)
        var held: [Int] = []
        var asked: [Int] = []
        for try await batch in batches {
            asked.append(script.readRequests)
            held.append(try #require(batch[0].managedObjectContext).graph.count)
            for _ in 0..<10 { await Task.yield() }
            #expect(script.readRequests == asked.last)
        }
        #expect(held == [4, 4, 4, 4, 4])
        // The requests: the end of the journal, the ids, and then one per batch.
        #expect(asked == [3, 4, 5, 6, 7])
    }

    @Test func `a loop that ends early releases its pin`() async throws {
        let context = context()
        struct Enough: Error {}
        for way in 0..<3 {
            var kept: Content?
            do {
                for try await batch in context.batches(for: FetchRequest(Content.self), size: 3) {
                    #expect(try pins(context) == 1)
                    kept = batch[0]
                    if way == 0 { break }
                    if way == 1 { throw Enough() }
                }
            } catch is Enough {}
            #expect(try pins(context) == 0, "\(way)")
            // A retained object moves to the context's position and stays current as long as it is
            // retained.
            bucket.name = "new \(way)"
            try await writer.save()
            #expect(kept?.bucket?.name == "new \(way)")
            #expect(kept?.managedObjectContext?.pinnedPosition == nil)
            #expect(context.graph.keptCount == 1)
            kept = nil
            // The object's deinitialisation is handled in a separate job; it is kept until then.
            for _ in 0..<1_000 where context.graph.keptCount > 0 {
                await Task.yield()
                context.graph.dropUnused()
            }
            #expect(context.graph.keptCount == 0)
        }
    }

    @Test func `a loop that is cancelled ends at once, also while it waits`() async throws {
        let context = context()
        let (script, all) = (script, all)
        let task = Task {
            var count = 0
            for try await batch in context.batches(for: all, size: 3) {
                count += batch.count
                script.hold()
            }
            return count
        }
        while script.readRequests < 4 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        script.release()
        #expect(try pins(context) == 0)
    }

    @Test func `the main actor is free while a batch is awaited`() async throws {
        let context = context()
        var iterator = context.batches(for: all, size: 5).makeAsyncIterator()
        _ = try await iterator.next(isolation: #isolation)
        script.hold()
        let (script, before) = (script, script.readRequests)
        let other = Task { @MainActor in
            while script.readRequests == before { await Task.yield() }
            script.release()
        }
        #expect(try await iterator.next(isolation: #isolation)?.count == 2)
        await other.value
    }

    @Test func `a loop reads at its context's pin, or at the position that it is given`()
        async throws
    {
        let context = context()
        let start = try await context.pin()
        try stir()
        let end = try #require(writer.position)
        func sizes(_ batches: FetchBatches<Content>) async throws -> [Int] {
            var sizes: [Int] = []
            for try await batch in batches { sizes += batch.map(\.size) }
            return sizes
        }
        let sort: [SortKey<Content>] = ["size"]
        #expect(
            try await sizes(context.batches(for: FetchRequest(Content.self, sort: sort)))
                == Array(0..<20))
        let late = try await sizes(
            context.batches(for: FetchRequest(Content.self, sort: sort), at: end))
        #expect(late == [-1] + (100..<119))
        try await context.unpin()
        #expect(
            try await sizes(context.batches(for: FetchRequest(Content.self, sort: sort))) == late)
        let early = try await sizes(
            context.batches(for: FetchRequest(Content.self, sort: sort), at: start))
        #expect(early == Array(0..<20))
    }

    @Test func `a lost connection is re-established within the loop`() async throws {
        let context = context()
        var sizes: [Int] = []
        for try await batch in context.batches(
            for: FetchRequest(Content.self, sort: ["size"]), size: 3)
        {
            sizes += batch.map(\.size)
            try stir()
            script.cut()
        }
        #expect(sizes == Array(0..<20))
    }

    @Test func `a failed read throws the reason and ends the loop`() async throws {
        let context = context()
        func code(_ batches: FetchBatches<ManagedObject>) async throws -> TandemError.Code? {
            var iterator = batches.makeAsyncIterator()
            do {
                _ = try await iterator.next(isolation: #isolation)
                return nil
            } catch let error as TandemError {
                #expect(try await iterator.next(isolation: #isolation) == nil)
                return error.code
            }
        }
        #expect(try await code(context.batches(for: all, size: 0)) == .usage)
        #expect(
            try await code(context.batches(for: FetchRequest(entity: "None"))) == .unknownEntity)
        var request = all
        request.limit = -1
        #expect(try await code(context.batches(for: request)) == .usage)
        request = FetchRequest(entity: "Content", sort: ["nothing"])
        #expect(try await code(context.batches(for: request)) == .unknownProperty)
        let end = try #require(writer.position)
        #expect(try await code(context.batches(for: all, at: end.at(0))) == .historyExpired)
        #expect(try pins(context) == 0)
    }

    @Test func `a loop whose objects are saved, or whose history has expired, fails`() async throws
    {
        let context = context()
        var iterator = context.batches(for: FetchRequest(Content.self), size: 3).makeAsyncIterator()
        let first = try #require(try await iterator.next(isolation: #isolation)?.first)
        first.name = "mine"
        try await first.managedObjectContext?.save()
        do {
            _ = try await iterator.next(isolation: #isolation)
            Issue.record("a moved loop continues")
        } catch let error as TandemError {
            #expect(error.code == .usage)
        }
        iterator = context.batches(for: FetchRequest(Content.self), size: 3).makeAsyncIterator()
        _ = try await iterator.next(isolation: #isolation)
        var model = try #require(writer.session).model.model
        model.entities["Spare"] = Entity("Spare")
        try await PersistentContainer(author: "other", transport: fixture.transport).install(model)
        do {
            _ = try await iterator.next(isolation: #isolation)
            Issue.record("a loop with expired history continues")
        } catch let error as TandemError {
            #expect(error.code == .historyExpired)
            #expect(error.message.contains("start the loop again"))
        }
        #expect(try pins(context) == 0)
    }
}
