import TandemEmbedded
import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import TestWorlds
import Testing

@testable import Tandem
@testable import TandemDaemon

/// Lists made from the chunks of an answer while later chunks are still to come.
@MainActor @Suite(.serialized) struct ChunkedListFetchTests {
    /// Returns a fake daemon with contents of these names, which sends one object per chunk, and a
    /// context that receives placements.
    private func fake(_ names: [String]) throws -> (FakeDaemon, ManagedObjectContext) {
        let fake = try FakeDaemon.sendingParts(of: names)
        return (fake, fake.container(cachedRows: 1).makeContext(name: "lists"))
    }

    private func interrupt(
        _ fake: FakeDaemon, after messages: Int, always: Bool = false,
        _ event: FakeDaemon.Interruption
    ) {
        fake.state.withLock {
            $0.interruption = (messages, event)
            $0.interruptsAll = always
            $0.requests = []
        }
    }

    private func list(
        _ context: ManagedObjectContext, sort: [String] = ["name"], sections: String? = nil
    ) throws -> FetchedResultsController<ManagedObject> {
        try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: sort.compactMap { SortKey($0) }),
            context: context, sectionNameKeyPath: sections)
    }

    private func names(_ list: FetchedResultsController<ManagedObject>) -> [PropertyValue] {
        list.fetchedObjects.map { $0["name"] }
    }

    private func texts(_ names: String...) -> [PropertyValue] { names.map { .string($0) } }

    // MARK: With a daemon

    /// Returns a container whose lists are fetched as placements.
    private func container(
        _ daemon: EmbeddedDaemon, _ author: String, cachedRows: Int = 1
    ) -> PersistentContainer {
        var limits = ClientLimits()
        limits.cachedRows = cachedRows
        return PersistentContainer(
            entities: [Bucket.self, Content.self], author: author, transport: daemon.transport,
            limits: limits)
    }

    private func daemon(chunkBytes: Int = 1) throws -> EmbeddedDaemon {
        var configuration = DaemonConfiguration.inMemory()
        configuration.limits.chunkBytes = chunkBytes
        return try EmbeddedDaemon(configuration)
    }

    /// Saves random contents of three buckets until `isOver` is set.
    private nonisolated func save(
        _ container: PersistentContainer, _ random: SplitMix, until isOver: Locked<Bool>
    ) async throws {
        try await container.withContext { context in
            var random = random
            let buckets = try context.fetch(Bucket.self, sort: ["name"])
            while !isOver.withLock({ $0 }) {
                let contents = try context.fetch(Content.self)
                if contents.count > 40, let content = contents.first {
                    context.delete(content)
                } else {
                    let content = try context.insert(Content.self)
                    content.name = "\(random.next(9))"
                    content.bucket = random.next(4) == 0 ? nil : buckets[random.next(buckets.count)]
                }
                buckets[random.next(buckets.count)].name = "\(random.next(6))"
                try context.save(policy: .objectTrump)
            }
        }
    }

    private func open(_ list: FetchedResultsController<ManagedObject>) throws {
        try list.performFetch()
    }

    /// Compares a list with a fresh fetch of its request.
    private func check(_ list: FetchedResultsController<ManagedObject>, _ comment: Comment) throws {
        // While these are retained, no bucket has to be loaded for its name.
        let buckets = try list.context.fetch(Bucket.self)
        let fetched = try list.context.fetch(list.fetchRequest)
        defer { withExtendedLifetime(buckets) {} }
        #expect(list.fetchedObjectIDs == fetched.map(\.id), comment)
        guard list.sectionNameKeyPath != nil else { return }
        let names = list.sections.flatMap { section in section.objectIDs.map { _ in section.name } }
        #expect(names == fetched.map { ($0 as? Content)?.bucket?.name ?? "" }, comment)
    }

    @Test(arguments: 0..<Seed.worlds(2, deep: 2))
    func `law 4: a list made of chunks equals a fresh fetch, whoever saves meanwhile`(_ run: Int)
        async throws
    {
        let daemon = try daemon(chunkBytes: [1, 300][run % 2])
        let writer = container(daemon, "writer")
        try await writer.withContext { context in
            for name in ["a", "b", "c"] { try context.insert(Bucket.self).name = name }
            for name in 0..<40 { try context.insert(Content.self).name = "\(name % 10)" }
            try context.save()
        }
        let isOver = Locked(false)
        var random = SplitMix(Seed.value(run))
        let saves = SplitMix(Seed.value(run + 100))
        let saver = Task.detached(executorPreference: ThreadPerJob()) { [self] in
            try await save(writer, saves, until: isOver)
        }
        for round in 0..<30 {
            let context = container(daemon, "list", cachedRows: [1, 1, 65_536][random.next(3)])
                .makeContext(name: "list")
            let sorts = [
                ["bucket.name", "name"], ["-bucket.name"], ["name"], ["-name", "bucket.name"],
            ]
            let shape = random.next(sorts.count)
            let isSectioned = shape < 2 && random.next(2) == 0
            if random.next(4) == 0 { try context.insert(Content.self).name = "\(random.next(9))" }
            let list = try list(
                context, sort: sorts[shape], sections: isSectioned ? "bucket.name" : nil)
            if random.next(4) == 0 { try await list.performFetch() } else { try open(list) }
            for _ in 0..<2 {
                try check(list, "TANDEM_SEED=\(Seed.value(run)) round \(round)")
            }
        }
        isOver.withLock { $0 = true }
        try await saver.value
    }

    @Test func `sections out of order are reported as for an unchunked answer`() throws {
        let daemon = try daemon()
        let context = container(daemon, "list").makeContext(name: "list")
        let writer = container(daemon, "writer").makeContext(name: "writer")
        for name in ["b", "a", "b"] { try writer.insert(Content.self).name = name }
        try writer.save()
        let list = try list(context, sort: ["size"], sections: "name")
        let error = #expect(throws: TandemError.self) { try list.performFetch() }
        #expect(error?.code == .outOfOrderSection && error?.message.contains("`b`") == true)
        list.fetchRequest.sort = [SortKey("name")]
        try list.performFetch()
        #expect(list.sections.map(\.numberOfObjects) == [1, 2])
    }

    @Test func `the trace contains the object count of a chunked list`() throws {
        let (_, context) = try fake(["c", "a", "b"])
        let lines = OperationLogTests.Lines()
        context.log = OperationLog("fetch", clock: ManualClock()) { lines.add($0) }
        try list(context).performFetch()
        #expect(lines.drain().map { $0.contains("count=3 lists=1") } == [true])
    }

    // MARK: With failures

    @Test func `a chunked answer is requested again if its connection is lost`() throws {
        let (fake, context) = try fake(["d", "b", "a", "c"])
        for messages in 1...4 {
            interrupt(fake, after: messages, .cut)
            let list = try list(context, sections: "name")
            try list.performFetch()
            #expect(names(list) == texts("a", "b", "c", "d"), "after \(messages)")
            #expect(list.sections.count == 4 && fake.fetchCount == 2, "after \(messages)")
        }
        interrupt(fake, after: 2, always: true, .cut)
        let error = #expect(throws: TandemError.self) { try list(context).performFetch() }
        #expect(error?.code == .disconnected && fake.fetchCount == ClientLimits().requestAttempts)
    }

    @Test
    func `a failure in place of the remaining chunks is thrown, and the connection stays usable`()
        async throws
    {
        let (fake, context) = try fake(["b", "a", "c"])
        let list = try list(context)
        for isAwaited in [false, true] {
            interrupt(fake, after: 2, .failure(TandemError(.limitExceeded, "no room")))
            let error = await #expect(throws: TandemError.self) {
                if isAwaited { try await list.performFetch() } else { try open(list) }
            }
            #expect(error?.code == .limitExceeded)
            #expect(list.numberOfObjects == 0 && list.position == nil)
        }
        try open(list)
        #expect(names(list) == texts("a", "b", "c"))
        #expect(fake.hellos().count == 2)
    }

    @Test func `missing chunks end with the answer timeout, or with the container`()
        throws
    {
        let (fake, _) = try fake(["b", "a", "c"])
        for isClosed in [true, false] {
            let container = fake.container(
                cachedRows: 1, answerMilliseconds: isClosed ? 3_600_000 : 20)
            let list = try list(container.makeContext(name: "lists"))
            interrupt(fake, after: 2, .silence { if isClosed { container.close() } })
            let error = #expect(throws: TandemError.self) { try list.performFetch() }
            #expect(error?.code == (isClosed ? .disconnected : .timeout))
            // The request is not sent again.
            #expect(list.numberOfObjects == 0 && fake.fetchCount <= 1)
            container.close()
        }
    }

    @Test func `law 2: a save between chunks is merged after them`() throws {
        let (fake, context) = try fake(["c", "a", "b"])
        _ = try context.fetchIDs(FetchRequest(entity: "Content"))
        interrupt(fake, after: 2, .save)
        let start = fake.end.number
        let list = try list(context)
        try list.performFetch()
        #expect(list.numberOfObjects == 3 && list.position?.number == start)
        #expect(fake.fetchCount == 1)
        try context.reach(fake.end)
        #expect(names(list).contains(.string("\(start)")) && list.numberOfObjects == 3)
    }

    @Test func `chunks that contradict their answer end the connection, and nothing traps`()
        throws
    {
        let (fake, context) = try fake(["a", "b", "c"])
        let object = ObjectReference(tag: 2, number: 99)
        func part(section: UInt32 = 0, hopCount: Int = 0) -> FetchedChunk {
            var places = ListPlacements(hopCount: hopCount)
            [1].withUnsafeBytes { places.append(object, key: $0, section: section) }
            for hop in 0..<hopCount { places.append(link: 1, hop: hop) }
            return FetchedChunk(places: places, hasMore: true)
        }
        let stored = try #require(fake.state.withLock { $0.rows.values.first })
        let row = StoredObject(object: object, version: 1, row: stored.row)
        let strange = [
            part(section: 7), part(hopCount: 1), FetchedChunk(hasMore: true),
            FetchedChunk(objects: [row], hasMore: true),
            FetchedChunk(references: [object], places: part().places, hasMore: true),
        ]
        for (index, part) in strange.enumerated() {
            interrupt(fake, after: 2, .part(part))
            let list = try list(context, sections: "name")
            try list.performFetch()
            #expect(names(list) == texts("a", "b", "c"), "part \(index)")
            #expect(fake.fetchCount == 2, "part \(index)")
        }
        interrupt(fake, after: 2, always: true, .part(strange[0]))
        let error = #expect(throws: TandemError.self) { try list(context).performFetch() }
        #expect(error?.code == .storage)
    }

    @Test func `objects of another entity are refused`() throws {
        let (fake, context) = try fake(["a", "b", "c"])
        var places = ListPlacements()
        [255].withUnsafeBytes {
            places.append(ObjectReference(tag: 1, number: 99), key: $0, section: 0)
        }
        interrupt(fake, after: 3, .part(FetchedChunk(places: places, hasMore: false)))
        let error = #expect(throws: TandemError.self) { try list(context).performFetch() }
        #expect(error?.code == .storage)
    }
}
