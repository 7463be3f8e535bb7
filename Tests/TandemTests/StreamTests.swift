import FoundationEssentials
import TandemIO
import TandemModel
import TestSupport
import Testing

@testable import Tandem

/// Random saves of several containers, which stand for processes, through a real daemon.
@MainActor @Suite struct StreamTests {
    @Test func `law 2: every context ends with the same graph, in whatever order it merged`() throws
    {
        let seed = TestSeed.value(or: 20_261_121)
        var random = SplitMix64(seed: seed)
        let fixture = try Fixture()
        let contexts = (0..<3).map { fixture.container("p\($0)").makeContext(name: "c\($0)") }
        var last: Position?
        for _ in 0..<120 {
            let context = contexts[Int.random(in: 0..<3, using: &random)]
            try edit(context, &random)
            last = try context.save(policy: .objectTrump)
        }
        // At the end, some objects that all contexts hold are changed, however many were deleted.
        for _ in 0..<15 { try contexts[0].insert(Content.self).name = "last" }
        last = try contexts[0].save(policy: .objectTrump)
        for round in 0..<9 {
            let context = contexts[round % 3]
            let contents = try context.fetch(Content.self)
            contents[Int.random(in: 0..<contents.count, using: &random)].size = 100 + round
            last = try context.save(policy: .objectTrump)
        }
        let end = try #require(last)
        let fresh = fixture.container("fresh").makeContext(name: "fresh")
        let truth = try graph(fresh)
        #expect(!truth.isEmpty)
        for context in contexts {
            try context.reach(end)
            // The merged state is compared before a fetch could repair it.
            try compare(context, with: fresh, seed)
            #expect(try graph(context) == truth, "TANDEM_SEED=\(seed)")
        }
    }

    private func compare(
        _ context: ManagedObjectContext, with fresh: ManagedObjectContext, _ seed: UInt64
    ) throws {
        var compared = 0
        for record in context.graph where record.row != nil {
            let other = try #require(
                fresh.graph[record.reference.number], "TANDEM_SEED=\(seed)")
            #expect(record.row == other.row, "TANDEM_SEED=\(seed) \(record.reference)")
            #expect(record.version == other.version, "TANDEM_SEED=\(seed) \(record.reference)")
            for (slot, members) in record.members {
                #expect(members == other.members[slot], "TANDEM_SEED=\(seed) \(record.reference)")
            }
            compared += 1
        }
        #expect(compared > 10, "TANDEM_SEED=\(seed)")
    }

    private func edit(_ context: ManagedObjectContext, _ random: inout SplitMix64) throws {
        let contents = try context.fetch(Content.self)
        let buckets = try context.fetch(Bucket.self)
        for bucket in buckets { _ = bucket.contents }
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: try context.insert(Bucket.self).name = "b\(random.next() % 10)"
        case 2, 3, 4:
            let content = try context.insert(Content.self)
            content.size = Int(random.next() % 10)
            content.bucket = buckets.randomElement(using: &random)
        case 5: contents.randomElement(using: &random).map { context.delete($0) }
        case 6: if buckets.count > 3 { context.delete(buckets[0]) }
        case 7: contents.randomElement(using: &random)?.bucket = nil
        default:
            let content = contents.randomElement(using: &random)
            content?.bucket = buckets.randomElement(using: &random)
            content?.size += 1
        }
    }

    /// Returns the graph that a context holds, with both ends of every relationship.
    private func graph(_ context: ManagedObjectContext) throws -> [String] {
        let contents = try context.fetch(Content.self).map { content in
            "\(content.id) \(content.size) \(content.bucket?.id.description ?? "-")"
        }
        let buckets = try context.fetch(Bucket.self).map { bucket in
            "\(bucket.id) \(bucket.name) \(bucket.contents.map(\.id).sorted())"
        }
        return contents + buckets
    }

    @Test func `faults returned together are loaded together`() throws {
        let daemon = try FakeDaemon(buckets)
        let bucket = daemon.insert("Bucket", [:])
        for size in 1...5 {
            _ = daemon.insert(
                "Content", ["bucket": .reference(bucket), "size": .int(Int64(size))])
        }
        let container = daemon.container()
        try container.register(Content.self)
        let context = container.makeContext(name: "test")
        let found = try #require(try context.fetch(FetchRequest(entity: "Bucket")).first)
        let contents = found.objects("contents").compactMap { $0 as? Content }
        #expect(contents.map(\.size).sorted() == [1, 2, 3, 4, 5])
        let reads = daemon.state.withLock { state in
            state.requests.count { if case .read = $0 { true } else { false } }
        }
        #expect(reads == 2)
    }

    @Test func `many tasks may save through one container at a time`() async throws {
        let fixture = try Fixture()
        let container = fixture.container()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    try await container.withContext(name: "w\(worker)") { context in
                        for size in 0..<20 {
                            let content = try context.insert(Content.self)
                            content.size = size
                            try await context.save()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let context = container.makeContext(name: "reader")
        #expect(try await context.count(for: FetchRequest(entity: "Content")) == 160)
    }
}
