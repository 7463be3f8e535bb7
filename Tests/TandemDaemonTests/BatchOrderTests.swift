import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// What a batch found is picked and put in order in steps, too.
@Suite(.ownThread) struct BatchOrderTests {
    @Test func `elements are put in order in steps as in one go`() {
        var random = SplitMix64(seed: seed)
        for count in [0, 1, 2, 7, 100, 1_000] {
            let elements = (0..<count).map { _ in Int.random(in: 0..<500, using: &random) }
            var sort = StepSort(elements, by: <)
            var (steps, budget) = (1, 1)
            while !sort.step(&budget) {
                budget = Int.random(in: 1...3, using: &random)
                steps += 1
            }
            #expect(sort.whole == elements.sorted(), "seed \(seed)")
            #expect(steps >= count / 12)
            var (whole, all) = (StepSort(elements, by: <), Int.max)
            #expect(whole.step(&all) && whole.whole == elements.sorted())
        }
    }

    @Test func `law 4: what a search found is given in steps as it was, whatever others save`()
        throws
    {
        for round in UInt64(0)..<3 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 600 &+ round)
            for _ in 0..<40 { try graph.step() }
            for list in VerdictTests.lists {
                let fetch = Fetch(request: list.request, kind: .references)
                let committer = graph.bench.committer
                let model = try graph.bench.model
                let read = try ReadUnderWay(
                    .fetch(fetch), fetch, at: 0, id: 1, in: model, committer)
                var (saves, budget) = (0, 1)
                while !(try read.step(committer, &budget)) {
                    if saves < 10, Int.random(in: 0..<5, using: &random) == 0 {
                        try graph.step()
                        saves += 1
                    }
                    budget = Int.random(in: 1...3, using: &random)
                }
                let request = try CompiledRequest(fetch.request, in: model)
                let expected = try committer.store.fetch(request, for: .references).references
                var found: [ObjectReference] = []
                var references = try #require(read.cursor?.references)
                budget = 1
                while !references.step(&budget, { found.append($0) == () }) {
                    try graph.step()
                    budget = 1
                }
                #expect(found == expected, "seed \(seed) round \(round): \(list.request)")
            }
        }
    }

    @Test func `law 7: saves are answered while a batch picks the objects of its limit`() throws {
        var limits = DaemonLimits()
        limits.sliceReads = 100
        let bench = try EngineBench(clock: ManualClock(), limits: limits)
        let (client, other) = (try bench.client(), try bench.client())
        try bench.fill(client, "Node", 1...4_000) { ["rank": .int(Int64($0 * 7 % 100))] }
        var batch = try bench.batch("Node", set: ["name": .string("x")], limit: 3_000)
        batch.request.sort = ["-rank"]
        let id = try client.send(.batch(batch))
        var turns = 0
        var answer: Batched?
        while answer == nil {
            let isOrdering = (bench.engine.batches.current as? BatchRun)?.isOrdering ?? false
            if isOrdering {
                turns += 1
                let insert = try bench.bench.insert("Tag", 4_001 + UInt64(turns))
                let save = try other.send(.save(other.saveRequest([insert])))
                try bench.turn()
                try other.read()
                #expect(other.received.last?.id == save)
            } else {
                try bench.turn()
            }
            answer = try client.batched(id)
        }
        #expect(answer?.count == 3_000)
        // To go through 3,000, eight for one, to put them in runs, four for one, and to merge those three times.
        #expect(turns >= 3_000 / 800 + 3_000 / 400 + 3 * 3_000 / 800, "\(turns)")
        let changed = try bench.transactions(of: [7]).flatMap(\.transaction.changes)
        #expect(changed.map(\.object) == changed.map(\.object).sorted() && changed.count == 3_000)
        #expect(try bench.count("Node", client, "name = 'x' AND rank > 25") == 2_960)
    }
}
