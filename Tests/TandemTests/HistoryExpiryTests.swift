import TandemDaemon
import TandemIO
import TandemJournal
import TandemModel
import Testing

@testable import Tandem

/// Journal readers whose history has expired, and their recovery.
@MainActor @Suite struct HistoryExpiryTests {
    /// The retention policy of the daemon that starts next.
    private let policy: Locked<RetentionPolicy>
    private let fixture: Fixture
    private let writer: ManagedObjectContext
    private let contents: [Content]

    init() throws {
        let policy = Locked(RetentionPolicy())
        fixture = try Fixture {
            $0.segmentBytes = 8 << 10
            $0.retention = policy.withLock { $0 }
        }
        self.policy = policy
        writer = fixture.container("writer").makeContext(name: "writer")
        var made: [Content] = []
        for size in 0..<24 {
            let content = try writer.insert(Content.self)
            content.name = String(repeating: "x", count: 2_000)
            content.size = size
            try writer.save()
            made.append(content)
        }
        contents = made
    }

    /// Removes as much of the journal as retention allows.
    private func trim() throws {
        policy.withLock { $0.capBytes = 1 }
        try fixture.restart()
        policy.withLock { $0.capBytes = nil }
        try fixture.restart()
    }

    /// The state that a reader of the journal builds from it.
    private struct Index: Equatable {
        var sizes: [ObjectNumber: PropertyValue] = [:]

        mutating func add(_ change: HistoryChange<Content>) {
            sizes[change.id.number] = change.after?["size"]
        }
    }

    private func index(_ context: ManagedObjectContext) throws -> Index {
        var index = Index()
        for content in try context.fetch(Content.self) {
            index.sizes[content.id.number] = .int(Int64(content.size))
        }
        return index
    }

    /// Commits one save of another client: an update, an insert and a deletion.
    private func save(_ round: Int) throws -> Position {
        contents[round].size = 100 + round
        try writer.insert(Content.self).size = 200 + round
        writer.delete(contents[23 - round])
        return try writer.save()
    }

    private func expire(_ consumer: JournalConsumer) async throws {
        try trim()
        let ends = [
            await #expect(throws: TandemError.self) {
                for try await _ in consumer.changes() {}
            },
            await #expect(throws: TandemError.self) {
                try await consumer.acknowledge(consumer.acknowledged.at(3))
            },
        ]
        #expect(ends.map { $0?.code } == [.historyExpired, .historyExpired])
    }

    @Test(arguments: [true, false])
    func `law 2: a reader with expired history fetches, then resumes at its context's position`(
        _ isAtContext: Bool
    ) async throws {
        let container = fixture.container("index")
        let start = try #require(writer.position)
        try await expire(try await container.consumer(named: "index", at: start.at(2)))
        let context = container.makeContext(name: "index")
        var index = try index(context)
        let fetched = try #require(context.position)
        // Saves by others between the fetch and the registration are part of the following
        // transactions.
        var last = try save(0)
        let position = isAtContext ? fetched : try await container.end()
        let consumer = try await container.consumer(named: "index", at: position)
        #expect(consumer.acknowledged == position)
        last = try save(1)
        var seen: [UInt64] = []
        for try await change in consumer.changes(of: Content.self) {
            index.add(change)
            guard change.isLastOfSave else { continue }
            seen.append(change.position.number)
            try await consumer.acknowledge(change)
            if seen.count < 5 { last = try save(1 + seen.count) }
            if change.position == last { break }
        }
        #expect(seen == Array((position.number + 1)...last.number))
        let fresh = fixture.container("fresh").makeContext(name: "fresh")
        let truth = try self.index(fresh)
        #expect(fresh.position == last && truth.sizes.count == 24)
        // The fetch did not see the last save, so a reader that starts at the journal's end misses
        // it.
        #expect((index == truth) == isAtContext && (position == fetched) == isAtContext)
    }

    @Test(arguments: [false, true])
    func `a reader of a replaced or restored store gets an error before its position is reached`(
        _ isRestored: Bool
    ) async throws {
        let reader = fixture.container("reader")
        let consumer = try await reader.consumer(named: "index")
        var changes = consumer.changes().makeAsyncIterator()
        contents[0].size = 100
        let position = try await writer.save()
        // The reader has read the whole journal, so it waits next.
        #expect(try await changes.next()?.position == position)
        if isRestored {
            try fixture.restart(raisesEpoch: true)
        } else {
            try fixture.stop()
            try RealFileSystem().removeTree(fixture.directory)
            try fixture.restart()
        }
        let error = await #expect(throws: TandemError.self) { try await changes.next() }
        #expect(error?.code == .historyExpired)
        #expect(error?.message.contains("replaced or restored") == true)
    }
}
