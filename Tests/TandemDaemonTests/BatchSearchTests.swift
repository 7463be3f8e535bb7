import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Readers that search for a batch's objects, between saves by others.
@Suite(.ownThread) struct BatchSearchTests {
    @Test func `law 4: a search finds the objects that matched at its position`() throws {
        for round in UInt64(0)..<3 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 600 &+ round)
            for _ in 0..<40 { try graph.step() }
            for list in VerdictTests.lists {
                let bench = graph.bench
                let limit =
                    Bool.random(using: &random) ? Int.random(in: 0...9, using: &random) : nil
                var batch = Batch(
                    batchID: [1], contentHash: StableHash([]),
                    modelVersion: try bench.model.version, request: list.request, work: .delete)
                batch.request.limit = limit
                let search = try BatchSearch(batch, BatchProgress(), in: try bench.model)
                try bench.committer.checkpoint()
                var expected = try bench.store.fetch(
                    CompiledRequest(batch.request, in: try bench.model), for: .references
                ).references
                expected.sort()
                let position = bench.committer.position
                let snapshot = try bench.store.snapshot()
                let run = ReadRun(
                    view: snapshot, model: try bench.model, limits: bench.committer.limits,
                    counts: bench.committer.limitCounters)
                let job = ReadJob(.search(search), of: 0, run, snapshot: snapshot)
                for _ in 0..<Int.random(in: 0...3, using: &random) { try graph.step() }
                try bench.committer.checkpoint()
                job.advance { _ in }
                let state = job.consumeProgress()
                let found = state.found?.objects
                #expect(found == expected, "seed \(seed) round \(round): \(list.request)")
                #expect(state.position == position && job.heldBytes == 0)
            }
        }
    }

    @Test func `law 7: saves are answered during the search for a batch's objects`() throws {
        let bench = try EngineBench(clock: ManualClock())
        let (client, other) = (try bench.client(), try bench.client())
        try bench.fill(client, "Node", 1...4_000) { ["rank": .int(Int64($0 * 7 % 100))] }
        var batch = try bench.batch("Node", set: ["name": .string("x")], limit: 3_000)
        batch.request.sort = ["-rank"]
        bench.holdReaders(true)
        let id = try client.send(.batch(batch))
        for turn in 0..<20 {
            let insert = try bench.bench.insert("Tag", 4_001 + UInt64(turn))
            let save = try other.send(.save(other.saveRequest([insert])))
            try bench.turn()
            try other.read()
            #expect(other.received.last?.id == save)
        }
        #expect(bench.engine.batches.queue.current?.isSearching == true)
        #expect(try bench.transactions(of: [7]).isEmpty)
        bench.holdReaders(false)
        guard case .batched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.count == 3_000)
        let changed = try bench.transactions(of: [7]).flatMap(\.transaction.changes)
        #expect(changed.map(\.object) == changed.map(\.object).sorted() && changed.count == 3_000)
        #expect(try bench.count("Node", client, "name = 'x' AND rank > 25") == 2_960)
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `law 8: a batch's search uses at most the memory that a read may use`() throws {
        var limits = DaemonLimits()
        limits.readBytes = 40_000
        let bench = try EngineBench(clock: ManualClock(), limits: limits)
        let client = try bench.client()
        try bench.fill(client, "Node", 1...4_000)
        let error = #expect(throws: TandemError.self) { try client.run(try bench.batch("Node")) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message.contains("limits.readBytes") == true)
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `a batch's search ends with its client, and then holds nothing`() throws {
        let bench = try EngineBench(clock: ManualClock())
        let (gone, other) = (try bench.client(), try bench.client())
        try bench.fill(gone, "Node", 1...10)
        bench.holdReaders(true)
        _ = try gone.send(.batch(try bench.batch("Node")))
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.reads.running.count == 1)
        bench.engine.disconnect(gone.session, because: nil)
        #expect(bench.engine.reads.bytes.held == 0)
        bench.holdReaders(false)
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.reads.running.isEmpty && bench.engine.reads.bytes.held == 0)
        #expect(try bench.count("Node", other) == 10)
        #expect(try other.run(try bench.batch("Node")).count == 10)
    }

    /// A failed flush of other clients' saves used to end the batch, without ending its search's
    /// accounting.
    @Test func `law 3: a full disk does not end a batch during its search`() throws {
        let bench = try EngineBench.ofReaders()
        try bench.insertNodes(10)
        let (client, saver) = (try bench.client(), try bench.client())
        bench.holdReaders(true)
        let id = try client.send(.batch(try bench.batch("Node")))
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.reads.running.count == 1)
        bench.bench.disk.faults.writesUntilFailure = 1
        bench.bench.disk.faults.writeErrno = 28
        let save = try saver.send(.save(saver.saveRequest([try bench.bench.insert("Node", 100)])))
        guard case .failure = try saver.answer(save) else {
            Issue.record("the disk was not full")
            return
        }
        bench.holdReaders(false)
        _ = try client.answer(id)
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.running.isEmpty)
        #expect(bench.engine.reads.waiting.isEmpty)
    }

    @Test func `a batch whose model changes during its search is refused`() throws {
        let bench = try EngineBench(clock: ManualClock())
        let client = try bench.client()
        try bench.fill(client, "Node", 1...10)
        bench.holdReaders(true)
        let id = try client.send(.batch(try bench.batch("Node")))
        for _ in 0..<5 { try bench.turn() }
        var model = graphModel
        model.entities["Spare"] = Entity("Spare")
        try bench.bench.committer.install(model, by: Principal())
        bench.holdReaders(false)
        guard case .failure(let error) = try client.answer(id) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .schemaMismatch && bench.engine.reads.bytes.held == 0)
        #expect(try bench.count("Node", client) == 10)
    }
}
