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

    private func read(
        _ container: PersistentContainer, _ filter: HistoryFilter
    ) async throws -> [Transaction] {
        let start = try await container.consumer(named: "start \(UUID())").acknowledged.at(0)
        var found: [Transaction] = []
        for try await transaction in container.transactions(after: start, filter) {
            found.append(transaction)
        }
        return found
    }

    @Test(arguments: [DaemonLimits().sliceReads, 2])
    func `a filter returns the matching transactions of the whole history`(
        _ sliceReads: Int
    ) async throws {
        var limits = DaemonLimits()
        limits.sliceReads = sliceReads
        let fixture = try Fixture(limits: limits)
        let (contents, end) = try await saves(fixture)
        let container = fixture.container("reader")
        let model = try await container.storeModel()
        let content = try #require(model.entity(named: "Content"))
        let size = try #require(content.slot(of: "size"))
        let all = try await read(container, HistoryFilter())
        #expect(all.map(\.position) == Array(1...end.number))
        func check(
            _ change: (inout HistoryFilter) -> Void, _ isWanted: (Transaction) -> Bool
        ) async throws {
            var filter = HistoryFilter()
            change(&filter)
            let expected = all.filter { isModel($0) || isWanted($0) }
            let found = try await read(container, filter)
            #expect(found.map(\.position) == expected.map(\.position), "\(filter)")
            #expect(expected.count > 1 && expected.count < all.count)
        }
        try await check({ $0.authors = ["two"] }) { $0.principal.author == "two" }
        try await check({ $0.entities = ["Bucket"] }) { transaction in
            transaction.changes.contains { $0.object.tag != content.tag }
        }
        let second = contents[1].id
        try await check({ $0.objects = [second] }) { transaction in
            transaction.changes.contains { $0.object.number == second.number }
        }
        try await check({ $0.properties = ["Content": ["size"]] }) { transaction in
            transaction.changes.contains {
                $0.object.tag == content.tag && $0.changed.contains(size)
            }
        }
        try await check({
            $0.authors = ["one"]
            $0.objects = [second]
        }) { transaction in
            transaction.principal.author == "one"
                && transaction.changes.contains { $0.object.number == second.number }
        }
        let middle = all[all.count / 2].time
        let date = Date(timeIntervalSince1970: Double(middle) / 1_000_000)
        try await check({ $0.until = date }) { $0.time < middle }
        try await check({ $0.since = date }) { $0.time >= middle }
    }

    private func isModel(_ transaction: Transaction) -> Bool {
        if case .model = transaction.content { true } else { false }
    }

    @Test func `names that the model lacks, and too many names, are refused`() async throws {
        let fixture = try Fixture()
        let (_, end) = try await saves(fixture)
        let container = fixture.container("reader")
        for (change, code) in [
            ({ $0.entities = ["Nothing"] }, TandemError.Code.unknownEntity),
            ({ $0.properties = ["Content": ["nothing"]] }, .unknownProperty),
            ({ $0.authors = (0...4_096).map { "\($0)" } }, .limitExceeded),
        ] as [((inout HistoryFilter) -> Void, TandemError.Code)] {
            var filter = HistoryFilter()
            change(&filter)
            let error = await #expect(throws: TandemError.self) {
                try await container.history(after: end.at(0), filter)
            }
            #expect(error?.code == code)
        }
        let other = Position(log: end.log, epoch: end.epoch + 1, number: 1)
        let error = await #expect(throws: TandemError.self) {
            try await container.history(after: other, HistoryFilter())
        }
        #expect(error?.code == .historyExpired)
    }

    @Test func `law 2: a consumer resumes after its acknowledged position and follows`()
        async throws
    {
        let fixture = try Fixture()
        let (_, end) = try await saves(fixture)
        let first = try await fixture.container("a").consumer(named: "index", at: end.at(3))
        #expect(first.acknowledged.number == 3)
        var seen: [UInt64] = []
        for try await transaction in first.transactions() {
            seen.append(transaction.position)
            if transaction.position == 7 { break }
        }
        #expect(seen == [4, 5, 6, 7])
        #expect(try await first.acknowledge(first.position(7)).number == 7)
        // Another process; its start position would only be used for a new consumer.
        let again = try await fixture.container("b").consumer(named: "index", at: end.at(1))
        #expect(again.acknowledged.number == 7)
        let writer = fixture.container("c").makeContext(name: "writer")
        _ = try writer.insert(Content.self)
        seen = []
        var isSaved = false
        for try await transaction in again.transactions(follows: true) {
            seen.append(transaction.position)
            if transaction.position == end.number, !isSaved {
                isSaved = true
                try await writer.save()
            }
            if transaction.position > end.number { break }
        }
        #expect(seen == Array(8...(end.number + 1)))
        #expect(try await again.remove())
        #expect(try await !again.remove())
        let error = await #expect(throws: TandemError.self) {
            try await again.acknowledge(again.position(8))
        }
        #expect(error?.code == .usage)
    }
}
