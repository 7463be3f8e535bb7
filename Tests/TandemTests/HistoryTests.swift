import FoundationEssentials
import TandemDaemon
import TandemModel
import Testing

@testable import Tandem

/// The journal as read in Swift: filtered by the daemon, and retained for consumers.
@MainActor @Suite struct HistoryTests {
    /// Commits saves of two authors that change several properties of several objects.
    private func saves(_ fixture: Fixture) async throws -> (contents: [Content], end: Position) {
        let containers = ["one", "two"].map { fixture.container($0) }
        let contexts = containers.map { $0.makeContext(name: "writer") }
        let contents = try (0..<3).map { _ in try contexts[0].insert(Content.self) }
        var end = try await contexts[0].save()
        for round in 0..<12 {
            let context = contexts[round % 2]
            try await context.reach(end)
            let all = try await context.fetch(FetchRequest(entity: "Content"))
            let content = try #require(all[round % 3] as? Content)
            if round % 4 == 0 { content.name = "n\(round)" } else { content.size = round }
            if round % 5 == 0 { (try context.insert(Bucket.self)).name = "b\(round)" }
            end = try await context.save()
        }
        return (contents, end)
    }

    /// A change as the tests compare it.
    private struct Found: Hashable {
        var position: UInt64
        var id: ObjectID

        init<Object>(_ change: HistoryChange<Object>) {
            (position, id) = (change.position.number, change.id)
        }
    }

    @Test(arguments: [DaemonLimits().sliceReads, 2])
    func `a filter returns the matching changes of the whole history`(
        _ sliceReads: Int
    ) async throws {
        var limits = DaemonLimits()
        limits.sliceReads = sliceReads
        let fixture = try Fixture(limits: limits)
        let (contents, end) = try await saves(fixture)
        let container = fixture.container("reader")
        let start = end.at(0)
        let all = try await read(container.changes(after: start))
        // The first transaction installs the model.
        #expect(Set(all.map(\.position.number)) == Set(2...end.number))
        func check<Object>(
            _ changes: HistoryChanges<Object>, _ isWanted: (HistoryChange<ManagedObject>) -> Bool
        ) async throws {
            let expected = all.filter(isWanted).map { Found($0) }
            #expect(try await read(changes).map { Found($0) } == expected)
            #expect(!expected.isEmpty && expected.count < all.count)
        }
        func check(
            _ filter: HistoryFilter, _ isWanted: (HistoryChange<ManagedObject>) -> Bool
        ) async throws {
            try await check(container.changes(filter, after: start), isWanted)
        }
        let second = contents[1].id
        func changesSize(_ change: HistoryChange<ManagedObject>) -> Bool {
            change.id.entity == "Content" && change.changed.contains("size")
        }
        try await check(HistoryFilter(authors: ["two"])) { $0.author == "two" }
        try await check(HistoryFilter(entities: ["Bucket"])) { $0.id.entity == "Bucket" }
        try await check(HistoryFilter(objects: [second])) { $0.id == second }
        try await check(HistoryFilter(properties: ["Content": ["size"]]), changesSize)
        try await check(HistoryFilter(authors: ["one"], objects: [second])) {
            $0.author == "one" && $0.id == second
        }
        let middle = all[all.count / 2].time
        try await check(HistoryFilter(until: middle)) { $0.time < middle }
        try await check(HistoryFilter(since: middle)) { $0.time >= middle }
        try await check(container.changes(of: Bucket.self, after: start)) {
            $0.id.entity == "Bucket"
        }
        try await check(
            container.changes(of: Content.self, after: start, properties: [\.size]), changesSize)
        try await check(
            container.changes(of: Content.self, after: start, authors: ["two"])
        ) { $0.id.entity == "Content" && $0.author == "two" }
    }

    @Test func `a change has the values before and after it, by name and by key path`()
        async throws
    {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "editor")
        let bucket = try writer.insert(Bucket.self)
        bucket.name = "b"
        let content = try writer.insert(Content.self)
        (content.name, content.size, content.bucket) = ("one", 1, bucket)
        let (id, bucketID) = (content.id, bucket.id)
        let start = try await writer.save()
        (content.name, content.bucket) = ("two", nil)
        try await writer.save()
        writer.delete(content)
        try await writer.save()
        let container = fixture.container("reader")
        let all = try await read(container.changes(of: Content.self, after: start.at(1)))
        #expect(all.map(\.kind) == [.insert, .update, .delete])
        #expect(all.allSatisfy { $0.id == id && $0.isLastOfSave })
        #expect(all.map { $0.before?[\.name] } == [nil, "one", "two"])
        #expect(all.map { $0.after?[\.name] } == ["one", "two", nil])
        #expect(all.map { $0.before?["size"] } == [nil, .int(1), .int(1)])
        #expect(all.map { $0.after?[\.bucket] } == [bucketID, nil, nil])
        #expect(all[1].before?.target(of: "bucket") == bucketID)
        #expect(all[1].after?["bucket"] == .null && all[1].after?["other"] == nil)
        #expect(all[0].after?.names == ["bucket", "name", "size"])
        #expect(all[1].changed == ["name", "bucket"])
        #expect(all[1].changes(\.name) && !all[1].changes(\.size))
        #expect(all.map(\.author) == ["writer", "writer", "writer"])
        #expect(all[0].principal.context == "editor")
        #expect(all[0].position == start && all[2].position == start.at(start.number + 2))
        #expect("\(all[1])" == "\(start.number + 1) update \(id) bucket, name")
        let buckets = try await read(container.changes(of: Bucket.self, after: start.at(1)))
        #expect(buckets.map(\.kind) == [.insert, .touch])
        #expect(buckets[1].before == nil && buckets[1].after == nil)
        #expect(buckets.map { $0.members["contents"]?.added } == [[id], []])
        #expect(buckets[1].members["contents"]?.removed == [id])
    }

    @Test func `a payload has the same changes`() async throws {
        let fixture = try Fixture()
        let container = fixture.container("reader")
        _ = try await container.follow(["Bucket", "Content"])
        var saves = container.didSave.makeAsyncIterator()
        let writer = fixture.container("writer").makeContext(name: "writer")
        try writer.insert(Content.self).name = "one"
        try writer.insert(Bucket.self).name = "b"
        let position = try await writer.save()
        let payload = try #require(try await saves.next())
        #expect(try payload.changes(of: Content.self).map { $0.after?[\.name] } == ["one"])
        #expect(try payload.changes.map { $0.after?["name"] } == [.string("b"), .string("one")])
        #expect(try payload.changes.map(\.position) == [position, position])
        #expect(try payload.changes.map(\.isLastOfSave) == [false, true])
    }

    @Test func `names that the model lacks, and too many names, are refused`() async throws {
        let fixture = try Fixture()
        let (_, end) = try await saves(fixture)
        let container = fixture.container("reader")
        for (filter, code) in [
            (HistoryFilter(entities: ["Nothing"]), TandemError.Code.unknownEntity),
            (HistoryFilter(properties: ["Content": ["nothing"]]), .unknownProperty),
            (HistoryFilter(authors: (0...4_096).map { "\($0)" }), .limitExceeded),
        ] {
            let error = await #expect(throws: TandemError.self) {
                try await read(container.changes(filter, after: end.at(0)))
            }
            #expect(error?.code == code)
        }
        let other = Position(log: end.log, epoch: end.epoch + 1, number: 1)
        for follows in [false, true] {
            let error = await #expect(throws: TandemError.self) {
                try await read(container.changes(after: other, follows: follows))
            }
            #expect(error?.code == .historyExpired)
        }
        let error = await #expect(throws: TandemError.self) {
            try await container.wait(for: other, timeout: 60)
        }
        #expect(error?.code == .historyExpired)
    }

    @Test func `law 2: a consumer resumes after its acknowledged position and follows`()
        async throws
    {
        let fixture = try Fixture()
        let (_, end) = try await saves(fixture)
        let process = fixture.container("a")
        let first = try await process.consumer(named: "index", at: end.at(3))
        #expect(first.acknowledged.number == 3)
        var seen: [UInt64] = []
        for try await change in first.changes() {
            seen.append(change.position.number)
            if change.position.number == 7, change.isLastOfSave {
                #expect(try await first.acknowledge(change).number == 7)
                break
            }
        }
        #expect(Set(seen) == [4, 5, 6, 7])
        process.close()
        // Another process; its start position would only be used for a new consumer.
        let again = try await fixture.container("b").consumer(named: "index", at: end.at(1))
        #expect(again.acknowledged.number == 7)
        let writer = fixture.container("c").makeContext(name: "writer")
        _ = try writer.insert(Content.self)
        seen = []
        var isSaved = false
        for try await change in again.changes() {
            seen.append(change.position.number)
            if change.position == end, !isSaved {
                isSaved = true
                try await writer.save()
            }
            if change.position > end { break }
        }
        #expect(Set(seen) == Set(8...(end.number + 1)))
        #expect(try await again.remove())
        #expect(try await !again.remove())
        let error = await #expect(throws: TandemError.self) {
            try await again.acknowledge(end.at(8))
        }
        #expect(error?.code == .usage)
    }

    @Test func `law 2: a save is acknowledged with its last change, not with an earlier one`()
        async throws
    {
        let fixture = try Fixture()
        let container = fixture.container("reader")
        let consumer = try await container.consumer(named: "index")
        let writer = fixture.container("writer").makeContext(name: "writer")
        for size in 0..<3 { try writer.insert(Content.self).size = size }
        let end = try await writer.save()
        var acknowledged: [UInt64] = []
        var sizes: [Int?] = []
        for try await change in consumer.changes(of: Content.self, follows: false) {
            sizes.append(change.after?[\.size])
            acknowledged.append(try await consumer.acknowledge(change).number)
        }
        #expect(sizes == [0, 1, 2])
        #expect(acknowledged == [end.number - 1, end.number - 1, end.number])
    }

    @Test func `law 2: saves without a match are acknowledged only after those with a match`()
        async throws
    {
        let fixture = try Fixture()
        let container = fixture.container("reader")
        let consumer = try await container.consumer(named: "index")
        let writer = fixture.container("writer").makeContext(name: "writer")
        func save(_ count: UInt64) throws -> Position {
            var end = consumer.acknowledged
            for _ in 0..<count {
                _ = try writer.insert(Bucket.self)
                end = try writer.save()
            }
            return end
        }
        func acknowledged() throws -> UInt64 {
            let status = try JSON(parsing: try container.status())
            return UInt64(clamping: status["consumers"]?.array?.first?["acknowledged"]?.int ?? -1)
        }
        let most = HistoryReader.skippedTransactions
        func readAll() async throws -> [HistoryChange<Content>] {
            try await read(consumer.changes(of: Content.self, follows: false))
        }
        let start = consumer.acknowledged.number
        _ = try save(most - 1)
        #expect(try await readAll().isEmpty)
        #expect(try acknowledged() == start)
        let skipped = try save(1)
        #expect(try await readAll().isEmpty)
        #expect(try acknowledged() == skipped.number)
        // The position does not advance past a match that is not acknowledged.
        _ = try writer.insert(Content.self)
        try await writer.save()
        let end = try save(2 * most)
        let found = try await readAll()
        #expect(found.count == 1)
        #expect(try acknowledged() == skipped.number)
        try await consumer.acknowledge(try #require(found.first))
        #expect(try await readAll().isEmpty)
        #expect(try acknowledged() == end.number && consumer.acknowledged == end)
    }

    @Test func `one connection at a time reads as a consumer`() async throws {
        let fixture = try Fixture()
        let (_, end) = try await saves(fixture)
        let holder = fixture.container("holder")
        let first = try await holder.consumer(named: "index", at: end.at(3))
        // The same process may register the name again.
        #expect(try await holder.consumer(named: "index").acknowledged.number == 3)
        let other = fixture.container("other")
        for request in [
            { _ = try await other.consumer(named: "index") },
            { _ = try other.acknowledge(end, asConsumer: "index") },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: TandemError.self) { try await request() }
            #expect(error?.code == .consumerInUse)
            #expect(error?.message.contains("(holder, pid") == true, "\(error?.message ?? "")")
        }
        #expect(try await other.consumer(named: "other").acknowledged == end)
        #expect(try await first.acknowledge(end.at(5)).number == 5)
        holder.close()
        #expect(try await other.consumer(named: "index").acknowledged.number == 5)
    }
}
