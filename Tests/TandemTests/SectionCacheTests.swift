import FoundationEssentials
import TandemDaemon
import TandemIO
import TandemJournal
import TandemModel
import TandemResults
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// Lists cached between runs of a program: never stale, whatever happens to the file.
@MainActor @Suite struct SectionCacheTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let directory: String
    /// The retention policy of the daemon that starts next.
    private let policy: Locked<RetentionPolicy>

    init() throws {
        let policy = Locked(RetentionPolicy())
        fixture = try Fixture {
            $0.segmentBytes = 8 << 10
            $0.retention = policy.withLock { $0 }
        }
        self.policy = policy
        writer = fixture.container("writer").makeContext(name: "writer")
        directory = fixture.cacheDirectory
    }

    /// Opens a list in a container of its own, as in another run of the program.
    private func open(
        _ name: String? = "list", _ format: String? = nil, sections: String? = "bucket.name",
        sort: [String] = ["bucket.name", "size"], refresh: [String] = []
    ) throws -> FetchedResultsController<ManagedObject> {
        let container = fixture.container("run")
        container.cacheDirectory = directory
        var request = FetchRequest(entity: "Content", sort: sort.compactMap { SortKey($0) })
        request.predicate = try format.map { try ObjectPredicate(format: $0) }
        let list = try FetchedResultsController(
            fetchRequest: request, context: container.makeContext(name: "run"),
            sectionNameKeyPath: sections, relationshipKeyPathsForRefreshing: refresh,
            cacheName: name)
        try list.performFetch()
        return list
    }

    private func save(_ count: Int) throws {
        for index in 0..<count {
            let bucket = try writer.insert(Bucket.self)
            bucket.name = "b\(index % 3)"
            let content = try writer.insert(Content.self)
            (content.size, content.bucket) = (index, bucket)
        }
        try writer.save()
    }

    private func check(_ list: FetchedResultsController<ManagedObject>) throws {
        let fresh = try FetchedResultsController(
            fetchRequest: list.fetchRequest,
            context: fixture.container("fresh").makeContext(name: "fresh"),
            sectionNameKeyPath: list.sectionNameKeyPath)
        try fresh.performFetch()
        #expect(list.sections == fresh.sections)
    }

    @Test func `a cached list opens without a fetch and includes the changes since`() throws {
        try save(6)
        #expect(try open().fetches == 1)
        try save(2)
        let contents = try writer.fetch(Content.self, sort: ["size"])
        contents[0].size = 99
        contents[2].bucket?.name = "moved"
        writer.delete(contents[3])
        try writer.save()
        let list = try open()
        #expect(list.fetches == 0)
        #expect(list.numberOfObjects == 7)
        try check(list)
        contents[4].bucket?.name = "moved, too"
        try list.context.reach(try writer.save())
        try check(list)
    }

    @Test func `a cached list is updated without requests, as a fetched one is`() throws {
        try save(6)
        _ = try open(refresh: ["bucket.name"])
        let list = try open(refresh: ["bucket.name"])
        #expect(list.fetches == 0)
        let asked = Locked(0)
        list.context.log = OperationLog("fetch", clock: ManualClock()) { _ in
            asked.withLock { $0 += 1 }
        }
        let contents = try writer.fetch(Content.self, sort: ["size"])
        contents[0].size = 99
        contents[1].bucket = contents[2].bucket
        writer.delete(contents[3])
        let new = try writer.insert(Content.self)
        (new.size, new.bucket) = (50, contents[5].bucket)
        try list.context.reach(try writer.save())
        try check(list)
        #expect(asked.withLock { $0 } == 0)
        // Rows that are not loaded require one request, once.
        var reported: [ObjectID] = []
        list.onChange = { reported += $0.reloadedIDs }
        for name in ["x", "y", "z"] {
            contents[5].bucket?.name = name
            try list.context.reach(try writer.save())
            try check(list)
        }
        #expect(asked.withLock { $0 } == 1)
        #expect(reported.filter { $0 == contents[5].id }.count == 3)
    }

    @Test func `a list under another name is cached under that name`() throws {
        try save(4)
        let list = try open("list")
        list.cacheName = "other"
        try list.performFetch()
        #expect(list.fetches == 2)
        #expect(try open("other").fetches == 0)
        list.cacheName = nil
        try list.performFetch()
        try check(list)
    }

    @Test func `the cached list of a killed program is brought up to date, also after a restart`()
        throws
    {
        try save(4)
        // The program ends without a last write, so the cache still contains the first fetch.
        let killed = try open()
        try save(3)
        try killed.context.reach(try #require(writer.position))
        try fixture.restart()
        try writer.connect()
        try save(1)
        let list = try open()
        #expect(list.fetches == 0)
        try check(list)
    }

    @Test func `a pinned context does not leave its pin for a cache`() throws {
        try save(4)
        _ = try open()
        let container = fixture.container("pinned")
        container.cacheDirectory = directory
        let context = container.makeContext(name: "pinned")
        let pin = try context.connect()
        try context.pin(at: pin)
        try save(3)
        _ = try open()
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["bucket.name", "size"]),
            context: context, sectionNameKeyPath: "bucket.name", cacheName: "list")
        try list.performFetch()
        #expect(context.position == pin && list.numberOfObjects == 4)
    }

    @Test func `another request, model or epoch does not use the cache`() throws {
        try save(4)
        _ = try open()
        #expect(try open("list", "size > 1").fetches == 1)
        #expect(try open("list", sort: ["bucket.name", "-size"]).fetches == 1)
        #expect(try open("list", sections: nil).fetches == 1)
        #expect(try open("other", sections: nil).fetches == 1)
        #expect(try open("list", sections: nil).fetches == 0)
        try fixture.restart(raisesEpoch: true)
        #expect(try open("list", sections: nil).fetches == 1)
        #expect(try open("list", sections: nil).fetches == 0)
        // The key paths for refreshing are part of the request.
        #expect(try open("list", sections: nil, sort: ["size"]).fetches == 1)
        #expect(
            try open("list", sections: nil, sort: ["size"], refresh: ["bucket.name"]).fetches == 1)
        let later = ManagedObjectModel {
            Bucket.entity
            Content.entity
            Entity("Later") { Attribute("name", .string) }
        }
        #expect(try open("list").fetches == 1)
        try fixture.container("later").install(later)
        #expect(try open("list").fetches == 1)
        #expect(try open("list").fetches == 0)
    }

    @Test func `a list is fetched if the journal no longer reaches back to its cache`() throws {
        try save(4)
        _ = try open()
        for _ in 0..<24 {
            let content = try writer.insert(Content.self)
            content.name = String(repeating: "x", count: 2_000)
            try writer.save()
        }
        policy.withLock { $0.capBytes = 1 }
        try fixture.restart()
        policy.withLock { $0.capBytes = nil }
        try fixture.restart()
        let list = try open()
        #expect(list.fetches == 1)
        try check(list)
        #expect(try open().fetches == 0)
    }

    @Test
    func `a list whose sections are out of order fails, and its cache stays as it was`()
        throws
    {
        try save(4)
        let list = try open("names", sections: "name", sort: ["size"])
        #expect(list.sections.count == 1)
        let contents = try writer.fetch(Content.self, sort: ["size"])
        contents[1].name = "between"
        try writer.save()
        #expect(throws: TandemError.self) { try open("names", sections: "name", sort: ["size"]) }
        contents[1].name = ""
        try writer.save()
        let good = try open("names", sections: "name", sort: ["size"])
        #expect(good.fetches == 0)
        try check(good)
    }

    @Test func `a deleted cache is created again, and no name leads out of the directory`() throws {
        try save(3)
        let names = ["list", "../x", "a/b", "", "ä", String(repeating: "long", count: 99)]
        for name in names {
            #expect(try open(name).fetches == 1)
            #expect(try open(name).fetches == 0)
        }
        let files = RealFileSystem()
        #expect(try files.list(directory).count == names.count)
        let container = fixture.container("run")
        container.cacheDirectory = directory
        try container.deleteCache(named: "list")
        #expect(try files.list(directory).count == names.count - 1)
        #expect(try open("list").fetches == 1)
        try container.deleteCache(named: nil)
        #expect(try files.list(directory).isEmpty)
        container.cacheDirectory = nil
        try container.deleteCache(named: nil)
    }

    @Test func `a cache that can't be written is ignored`() throws {
        try save(3)
        try RealFileSystem().replace(directory, with: [])
        #expect(try open().fetches == 1)
        let list = try open()
        #expect(list.fetches == 1)
        try check(list)
    }

    @Test func `a truncated or foreign file is not used`() throws {
        var links = CachedLinks()
        links.objects = [ObjectReference(tag: 1, number: 7), ObjectReference(tag: 1, number: 9)]
        (links.hopCount, links.objectIndices) = (2, [0, 1, 2, 0, 1, 1, 0, 0, 2, 2])
        let cache = SectionCache(
            request: StableHash([1]),
            position: try #require(Position("7@1-c1bfe2d5-9973-4e06-2984-552796c98195")),
            rows: (0..<5).map { number in
                ResultRow(
                    number: number, entityTag: 2, sortKey: [UInt8(number)],
                    section: "s\(number / 2)")
            }, links: links)
        let bytes = cache.bytes()
        #expect(SectionCache(bytes: bytes) == cache)
        // Sort keys folded with other Unicode tables can't be used.
        #expect(SectionCache(bytes: cache.bytes(tables: "99.0")) == nil)
        #expect(SectionCache(bytes: cache.bytes(tables: "99.0"), tables: "99.0") == cache)
        for length in 0..<bytes.count {
            #expect(SectionCache(bytes: Array(bytes[..<length])) == nil)
        }
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] ^= 1 << UInt8(place % 8)
            #expect(SectionCache(bytes: damaged) == nil)
        }
    }

    @Test(arguments: 0..<Seed.worlds(3, deep: 6))
    func `law 4: a cached list equals a fresh fetch, whatever was saved since`(_ run: Int) throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        try save(8)
        for round in 0..<12 {
            try edit(&random)
            try writer.save()
            let forms: [(String?, String?, [String])] = [
                (nil, "bucket.name", ["bucket.name", "size"]), ("size > 3", nil, ["size"]),
                ("bucket.name > 'b1'", nil, ["-size"]), ("bucket != nil", "size", ["size"]),
            ]
            let form = forms[random.next(forms.count)]
            let list = try open(
                "\(form)", form.0, sections: form.1, sort: form.2,
                refresh: random.next(2) == 0 ? ["bucket.name"] : [])
            var replayed = list.sections
            list.onChange = { change in
                do {
                    replayed = try change.apply(to: replayed)
                } catch {
                    Issue.record("\(error), TANDEM_SEED=\(seed)")
                }
            }
            for step in 0..<4 {
                if step > 0 {
                    try edit(&random)
                    try list.context.reach(try writer.save())
                }
                let fresh = try FetchedResultsController(
                    fetchRequest: list.fetchRequest, context: writer, sectionNameKeyPath: form.1)
                try fresh.performFetch()
                #expect(
                    list.sections == fresh.sections && replayed == fresh.sections,
                    "TANDEM_SEED=\(seed) round \(round).\(step) \(form)")
            }
        }
    }

    private func edit(_ random: inout SplitMix) throws {
        let contents = try writer.fetch(Content.self)
        let buckets = try writer.fetch(Bucket.self)
        for _ in 0...random.next(4) where !contents.isEmpty && !buckets.isEmpty {
            let content = contents[random.next(contents.count)]
            if content.isDeleted { continue }
            switch random.next(5) {
            case 0: content.size = random.next(9)
            case 1:
                content.bucket = random.next(3) == 0 ? nil : buckets[random.next(buckets.count)]
            case 2: buckets[random.next(buckets.count)].name = "b\(random.next(5))"
            case 3: writer.delete(content)
            default: try save(1)
            }
        }
    }
}
