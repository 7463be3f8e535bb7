import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// The effects of batches on the objects of a request, and their transactions.
@Suite(.ownThread) struct BatchTests {
    private func world(
        _ count: UInt64, _ values: @escaping (UInt64) -> [String: PropertyValue] = { _ in [:] }
    ) throws -> (bench: EngineBench, client: Peer) {
        let bench = try EngineBench(clock: ManualClock())
        let client = try bench.client()
        try bench.fill(client, "Node", 1...count, values)
        return (bench, client)
    }

    @Test func `a batch delete deletes all matching objects, and nothing else`() throws {
        let (bench, client) = try world(2_500) { ["rank": .int(Int64($0 % 2))] }
        let answer = try client.run(try bench.batch("Node", "rank = 1"))
        #expect(answer.count == 1_250)
        #expect(answer.position == bench.position.number)
        #expect(try bench.count("Node", client) == 1_250)
        #expect(try bench.count("Node", client, "rank = 1") == 0)
        let parts = try bench.transactions(of: [7])
        #expect(parts.last?.transaction.position == answer.position)
        #expect(parts.last?.done == 1_250)
        #expect(parts.count > 1)
        #expect(parts.allSatisfy { $0.transaction.changes.count <= WireLimits.batchObjects })
    }

    @Test func `a batch update sets attributes and to-one relationships`() throws {
        let (bench, client) = try world(300)
        try bench.fill(client, "Group", 400...400)
        let group = try bench.bench.reference("Group", 400)
        let update = try bench.batch(
            "Node", set: ["rank": .int(5), "group": .reference(group)])
        #expect(try client.run(update).count == 300)
        #expect(try bench.count("Node", client, "rank = 5 AND group.title = nil") == 300)
        #expect(try bench.bench.members("Group", 400, "nodes").count == 300)
        // A repeated update changes nothing, but all objects are counted.
        var again = update
        again.batchID = [8]
        let end = bench.position.number
        #expect(try client.run(again) == BatchAnswer(position: end, count: 300))
        #expect(bench.position.number == end)
    }

    @Test func `a batch with a limit processes the first objects in the request's order`() throws {
        let (bench, client) = try world(20) { ["rank": .int(Int64($0))] }
        var batch = try bench.batch("Node", limit: 5)
        batch.request.sort = ["-rank"]
        #expect(try client.run(batch).count == 5)
        #expect(try bench.count("Node", client, "rank > 15") == 0)
        #expect(try bench.count("Node", client) == 15)
    }

    @Test func `a batch without objects returns the end of the journal`() throws {
        let (bench, client) = try world(3)
        let end = bench.position.number
        let answer = try client.run(try bench.batch("Node", "rank = 77"))
        #expect(answer == BatchAnswer(position: end, count: 0))
        #expect(bench.position.number == end)
    }

    @Test func `cascades count toward the maximum number of objects of a transaction`() throws {
        let (bench, client) = try world(60)
        for parent in UInt64(1)...60 {
            let target = PropertyValue.reference(try bench.bench.reference("Node", parent))
            let first = 1_000 + parent * 100
            try bench.fill(client, "Leaf", first...(first + 39)) { _ in ["parent": target] }
        }
        let answer = try client.run(try bench.batch("Node", "parent = nil"))
        #expect(answer.count == 60)
        #expect(try bench.count("Node", client) == 0)
        let sizes = try bench.transactions(of: [7]).map(\.transaction.changes.count)
        #expect(sizes.allSatisfy { $0 <= WireLimits.batchObjects }, "\(sizes)")
        #expect(sizes.reduce(0, +) == 60 * 41)
    }

    @Test func `the cascade of one object may exceed that maximum`() throws {
        let (bench, client) = try world(1)
        let parent = PropertyValue.reference(try bench.bench.reference("Node", 1))
        try bench.fill(client, "Leaf", 10...1_509) { _ in ["parent": parent] }
        #expect(try client.run(try bench.batch("Node", "parent = nil")).count == 1)
        #expect(try bench.transactions(of: [7]).map(\.transaction.changes.count) == [1_501])
    }

    @Test func `a hub is processed in a transaction of its own, the others without it`() throws {
        let (bench, client) = try world(1)
        try bench.fill(client, "Tag", 10...209)
        let hub = ["tags": [try bench.bench.reference("Tag", 110)]]
        for start in stride(from: UInt64(1_000), to: 2_500, by: 500) {
            try client.save(
                try (start..<start + 500).map { try bench.bench.insert("Node", $0, links: hub) })
        }
        #expect(try client.run(try bench.batch("Tag")).count == 200)
        let sizes = try bench.transactions(of: [7]).map(\.transaction.changes.count)
        #expect(sizes.filter { $0 > WireLimits.batchObjects } == [1_501], "\(sizes)")
        #expect(sizes.reduce(0, +) == 200 + 1_500)
    }

    @Test func `a batch of large objects processes fewer of them at a time`() throws {
        var limits = DaemonLimits()
        limits.transactionBytes = 64 << 10
        let bench = try EngineBench(clock: ManualClock(), limits: limits)
        let client = try bench.client()
        let text = PropertyValue.string(String(repeating: "x", count: 3_000))
        for start in stride(from: UInt64(1), through: 100, by: 10) {
            try bench.fill(client, "Node", start...(start + 9)) { _ in ["name": text] }
        }
        let update = try client.run(try bench.batch("Node", set: ["rank": .int(5)]))
        #expect(update.count == 100 && update.failure == nil)
        #expect(try bench.count("Node", client, "rank = 5") == 100)
        let delete = try client.run(try bench.batch("Node", id: [8]))
        #expect(delete.count == 100 && delete.failure == nil)
        #expect(try bench.count("Node", client) == 0)
        for id: [UInt8] in [[7], [8]] {
            let sizes = try bench.transactions(of: id).map { $0.transaction.encoded().bytes.count }
            #expect(sizes.count > 1 && sizes.allSatisfy { $0 <= limits.transactionBytes })
        }
    }

    @Test func `changes by the batch do not exclude objects that it has not processed yet`() throws
    {
        let (bench, client) = try world(1) { _ in ["name": .string("Bob")] }
        let bob = PropertyValue.reference(try bench.bench.reference("Node", 1))
        try bench.fill(client, "Node", 2...400) { ["spouse": $0 == 2 ? bob : .null] }
        // Bob is deleted first, after which the others no longer match.
        let links = ["friends": [try bench.bench.reference("Node", 1)]]
        try client.save(try (3...400).map { try bench.bench.update("Node", $0, added: links) })
        let batch = try bench.batch(
            "Node", "name = \"Bob\" OR spouse.name = \"Bob\" OR ANY friends.name = \"Bob\"")
        #expect(try client.run(batch).count == 400)
        #expect(try bench.count("Node", client) == 0)
    }

    @Test func `law 2: followers get each transaction of a batch once and in order`() throws {
        let (bench, client) = try world(1_500)
        let start = bench.position.number
        let follower = try bench.client(Hello(author: "f", interests: ["Node"]))
        let saver = try bench.client(Hello(author: "s", interests: ["Node"]))
        let answer = try saver.run(try bench.batch("Node"))
        // The batch's own transactions precede its answer.
        #expect(saver.pushes.map(\.transaction.position) == Array((start + 1)...answer.position))
        while follower.pushes.count < saver.pushes.count {
            try bench.turn()
            try follower.read()
        }
        #expect(follower.pushes == saver.pushes)
        #expect(try bench.count("Node", client) == 0)
    }

    @Test func `law 6: the journal reproduces the same store after batches`() throws {
        let (bench, client) = try world(700) { ["rank": .int(Int64($0 % 5))] }
        _ = try client.run(try bench.batch("Node", "rank = 1", set: ["name": .string("x")]))
        _ = try client.run(try bench.batch("Node", "rank > 2", id: [8]))
        let before = try dump(bench.bench.store)
        try bench.crash()
        #expect(try dump(bench.bench.store) == before)
    }
}
