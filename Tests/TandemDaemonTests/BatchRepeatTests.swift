import TandemIO
import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Repeated batches: each object is processed once, whatever interrupts the batch.
@Suite(.ownThread) struct BatchRepeatTests {
    private func world(
        _ count: UInt64, limits: DaemonLimits = DaemonLimits()
    ) throws -> (bench: EngineBench, client: Peer) {
        let bench = try EngineBench(clock: ManualClock(), limits: limits)
        let client = try bench.client()
        try bench.fill(client, "Node", 1...count) { ["rank": .int(Int64($0 % 10))] }
        return (bench, client)
    }

    /// Kills the daemon after each transaction in turn, and discards the store every other time;
    /// returns the answer.
    private func runKilled(_ batch: Batch, _ bench: EngineBench) throws -> BatchAnswer {
        for parts in 1..<1_000 {
            _ = try bench.client().send(.batch(batch))
            try bench.turn(until: parts, of: batch.batchID)
            let last = try bench.transactions(of: batch.batchID).last
            if parts % 2 == 0 { try bench.crash() } else { try bench.rebuild() }
            guard last?.transaction.batch?.hasEnded ?? false else { continue }
            return try bench.client().run(batch)
        }
        throw TandemError(.timeout, "the batch does not end")
    }

    @Test func `law 3: a batch that is killed after each transaction processes each object once`()
        throws
    {
        let (bench, _) = try world(400)
        let update = try bench.batch("Node", "rank < 5", set: ["rank": .int(2)])
        let answer = try runKilled(update, bench)
        #expect(answer.count == 200 && answer.failure == nil)
        let parts = try bench.transactions(of: [7])
        #expect(parts.count > 2 && parts.last?.transaction.position == answer.position)
        let changed = parts.flatMap(\.transaction.changes).map(\.object)
        #expect(changed.count == 160 && Set(changed).count == 160)
        let reached = parts.compactMap(\.transaction.batch?.reached)
        #expect(zip(reached, reached.dropFirst()).allSatisfy { $0 < $1 })
        let delete = try bench.batch("Node", "rank = 2", id: [8])
        #expect(try runKilled(delete, bench).count == 200)
        #expect(try bench.count("Node", try bench.client()) == 200)
    }

    @Test
    func `law 3: a resumed update keeps values that others set since in its processed objects`()
        throws
    {
        let (bench, first) = try world(2_000)
        let other = try bench.client()
        let update = try bench.batch("Node", "rank < 5", set: ["rank": .int(3)])
        _ = try first.send(.batch(update))
        try bench.turn(until: 1)
        // An object that still matches, and that the batch has processed already.
        try other.save([try bench.bench.update("Node", 1, ["rank": .int(4)])])
        #expect(try bench.transactions(of: [7]).last?.transaction.batch?.hasEnded == false)
        try bench.crash()
        #expect(try bench.client().run(update).count == 1_000)
        #expect(try bench.bench.value("Node", 1, "rank") == .int(4))
    }

    @Test(arguments: [true, false])
    func `law 3: a resumed batch with a limit processes no more than its limit`(
        deletes: Bool
    ) throws {
        let (bench, client) = try world(2_000)
        // Processed objects no longer match.
        var batch = try bench.batch(
            "Node", "rank < 5", set: deletes ? nil : ["rank": .int(77)], limit: 600)
        batch.request.sort = ["-rank"]
        _ = try client.send(.batch(batch))
        try bench.turn(until: 2)
        let done = try #require(try bench.transactions(of: [7]).last?.done)
        #expect(done > 0 && done < 600)
        try bench.crash()
        let other = try bench.client()
        #expect(try other.run(batch).count == 600)
        #expect(try bench.count("Node", other, "rank < 5") == 400)
        // The processed objects are the first ones in the request's order, as without the
        // interruption.
        #expect(try bench.count("Node", other, "rank = 4 OR rank = 3 OR rank = 2") == 0)
    }

    @Test func `law 3: the same batch sent twice at once runs once`() throws {
        let (bench, first) = try world(2_000)
        let second = try bench.client()
        let batch = try bench.batch("Node", "rank < 5")
        let ids = (try first.send(.batch(batch)), try second.send(.batch(batch)))
        try bench.turn(until: 2)
        // An object that begins to match while the first batch runs is not part of it.
        let saver = try bench.client()
        try saver.save([try bench.bench.insert("Node", 5_000, ["rank": .int(0)])])
        guard case .batched(let one) = try first.answer(ids.0),
            case .batched(let two) = try second.answer(ids.1)
        else {
            Issue.record("no answers")
            return
        }
        #expect(one == two && one.count == 1_000)
        #expect(try bench.bench.exists("Node", 5_000))
        #expect(try bench.transactions(of: [7]).last?.transaction.position == one.position)
    }

    @Test func `law 3: a store rebuilt from the journal knows the end of a batch`()
        throws
    {
        let (bench, first) = try world(200)
        let batch = try bench.batch("Node", "rank < 5")
        let answer = try first.run(batch)
        #expect(try bench.transactions(of: [7]).last?.transaction.batch?.hasEnded == true)
        let saver = try bench.client()
        try saver.save([try bench.bench.insert("Node", 5_000, ["rank": .int(0)])])
        try bench.rebuild()
        #expect(try bench.client().run(batch) == answer)
        #expect(try bench.bench.exists("Node", 5_000))
        // The repeat is answered even after a model change, although it still uses the old model's
        // slots.
        var model = graphModel
        model.entities["Spare"] = Entity("Spare")
        let other = try bench.client()
        _ = try other.ask(.schema(SchemaRequest(model: model.json.text)))
        #expect(try other.run(batch) == answer)
    }

    @Test
    func
        `law 3: the end of a batch without changes is written to the journal, and is pushed to no client`()
        throws
    {
        let (bench, first) = try world(500)
        let follower = try bench.client(Hello(author: "f", interests: ["Node"]))
        let other = try bench.client()
        let batch = try bench.batch("Node")
        let id = try first.send(.batch(batch))
        try bench.turn(until: 1)
        let done = try #require(try bench.transactions(of: [7]).last?.done)
        try other.save(try ((done + 1)...500).map { try bench.bench.delete("Node", $0) })
        guard case .batched(let answer) = try first.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.count == done && answer.failure == nil)
        let last = try #require(try bench.transactions(of: [7]).last?.transaction)
        #expect(last.position == answer.position && last.changes.isEmpty)
        #expect(last.batch?.hasEnded == true && bench.position.number == last.position)
        for _ in 0..<5 { try bench.turn() }
        try follower.read()
        #expect(follower.pushes.count == 2)
        try bench.rebuild()
        #expect(try bench.client().run(batch) == answer)
    }

    @Test func `an update without any effect writes nothing, and repeats its answer`() throws {
        let (bench, client) = try world(300)
        let batch = try bench.batch("Node", "rank = 1", set: ["rank": .int(1)])
        let end = bench.position.number
        let answer = try client.run(batch)
        #expect(answer == BatchAnswer(position: end, count: 30))
        #expect(bench.position.number == end)
        try client.save([try bench.bench.insert("Tag", 5_000)])
        try bench.crash()
        #expect(try bench.client().run(batch) == answer)
    }

    @Test func `law 3: an id belongs to one batch or one save, even before a batch has ended`()
        throws
    {
        let (bench, client) = try world(1_000)
        _ = try client.send(.batch(try bench.batch("Node", "rank < 5")))
        try bench.turn(until: 2)
        try bench.crash()
        let other = try bench.client()
        func refusal(_ batch: Batch) -> TandemError.Code? {
            #expect(throws: TandemError.self) { try other.run(batch) }?.code
        }
        #expect(refusal(try bench.batch("Node", "rank < 6")) == .usage)
        #expect(try bench.transactions(of: [7]).count == 2)
        var save = other.saveRequest([try bench.bench.insert("Tag", 5_000)])
        let saveID = save.saveID
        _ = try other.ask(.save(save))
        #expect(refusal(try bench.batch("Node", "rank < 5", id: saveID)) == .usage)
        save.saveID = [7]
        guard case .failure(let error) = try other.ask(.save(save)) else {
            Issue.record("a save used a batch's id")
            return
        }
        #expect(error.code == .usage)
        #expect(try other.run(try bench.batch("Node", "rank < 5")).count == 500)
    }

    @Test func `law 7: ids like a batch's, and impossible numbers, do not crash the daemon`()
        throws
    {
        let (bench, client) = try world(100)
        var save = client.saveRequest([try bench.bench.insert("Tag", 5_000)])
        save.saveID = [7] + [UInt8](repeating: 0xff, count: 8)
        _ = try client.ask(.save(save))
        let batch = try bench.batch("Node", "rank < 5")
        #expect(try client.run(batch).count == 50)
        // No program writes this record, but a damaged disk may contain it.
        var other = batch
        other.batchID = [8]
        let known = IdempotencyRecord(
            position: 1, contentHash: other.contentHash, wrote: false, inserted: [],
            batch: BatchProgress(done: .max))
        try bench.bench.store.rememberUnchanged(known, by: client.session.peer.uid, id: [8])
        #expect(#expect(throws: TandemError.self) { try client.run(other) }?.code == .storage)
    }

    @Test func `law 3: a batch whose id may be forgotten is not run again`() throws {
        var limits = DaemonLimits()
        limits.savesKept = 20
        let (bench, client) = try world(100, limits: limits)
        var batch = try bench.batch("Node", "rank < 5")
        batch.firstSentAt = bench.position.number
        #expect(try client.run(batch).count == 50)
        for number in UInt64(6_000)...6_040 {
            try client.save([try bench.bench.insert("Tag", number)])
        }
        try client.save([try bench.bench.insert("Node", 5_000, ["rank": .int(0)])])
        #expect(
            #expect(throws: TandemError.self) { try client.run(batch) }?.code == .unknownOutcome)
        #expect(try bench.bench.exists("Node", 5_000))
    }

    @Test func `a batch with an offset is refused`() throws {
        let (bench, client) = try world(10)
        var batch = try bench.batch("Node")
        batch.request.offset = 3
        #expect(#expect(throws: TandemError.self) { try client.run(batch) }?.code == .usage)
    }
}
