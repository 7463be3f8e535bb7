import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Verdicts in steps between which others save are verdicts at the end.
@Suite(.ownThread) struct VerdictStepTests {
    /// Works a question off in small steps, between some of which others save; returns how many steps that took.
    private func run(
        _ question: inout VerdictsUnderWay, _ graph: inout RandomGraph,
        _ random: inout SplitMix64, saves most: Int
    ) throws -> Int {
        let committer = graph.bench.committer
        var (steps, saves, budget) = (1, 0, 1)
        while !(try question.step(committer, &budget, isHeldUp: false)) {
            if saves < most, Int.random(in: 0..<8, using: &random) == 0 {
                try graph.step()
                saves += 1
            }
            if Int.random(in: 0..<40, using: &random) == 0 { question.forget(committer) }
            budget = Int.random(in: 1...4, using: &random)
            steps += 1
        }
        return steps
    }

    private func question(
        _ request: VerdictRequest, _ graph: RandomGraph
    ) throws -> VerdictsUnderWay {
        try VerdictsUnderWay(request, in: try graph.bench.model, graph.bench.committer, reads: nil)
    }

    private func window(_ bench: CommitBench, after from: UInt64) throws -> TransactionWindow {
        try TransactionWindow(bench.committer, after: from, try bench.model)
    }

    @Test func `law 4: verdicts in steps of one are those that are given in one go`() throws {
        var steps = 0
        for round in UInt64(0)..<3 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 700 &+ round)
            for _ in 0..<30 { try graph.step() }
            for count in 1...6 {
                let from = graph.bench.committer.position
                for _ in 0..<count { try graph.step() }
                let what = "seed \(seed) round \(round), \(count) after \(from)"
                var all = try question(
                    VerdictRequest(from: from, items: VerdictTests.lists), graph)
                steps += try run(&all, &graph, &random, saves: 0)
                let answer = all.answer(graph.bench.committer)
                var related: Set<StoredObject> = []
                for (item, verdicts) in zip(VerdictTests.lists, answer.items) {
                    let evaluator = VerdictEvaluator(
                        try item.compiled(try graph.bench.model),
                        try window(graph.bench, after: from), graph.bench.store)
                    let whole = try evaluator.verdicts(AnswerSize(graph.bench.committer))
                    #expect(verdicts == whole.verdicts, "\(what): \(item.request)")
                    related.formUnion(whole.related)
                }
                #expect(answer.items.count == VerdictTests.lists.count)
                #expect(Set(answer.related) == related, "\(what)")
                #expect(answer.position == graph.bench.committer.position)
            }
        }
        #expect(steps > 1_000)
    }

    @Test func `law 4: verdicts between whose steps others save speak of the last one`() throws {
        for round in UInt64(0)..<4 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 800 &+ round)
            for _ in 0..<30 { try graph.step() }
            for item in VerdictTests.lists {
                let old = try ListSnapshot(item, graph.bench)
                let from = graph.bench.committer.position
                for _ in 0..<Int.random(in: 0...2, using: &random) { try graph.step() }
                var one = try question(VerdictRequest(from: from, items: [item]), graph)
                _ = try run(&one, &graph, &random, saves: 12)
                let answer = one.answer(graph.bench.committer)
                let what = "seed \(seed) round \(round) after \(from): \(item.request)"
                try VerdictTests.check(answer.items[0], item, old, graph.bench, what)
                #expect(answer.position == graph.bench.committer.position)
                try checkRelated(answer, item, graph.bench, what)
            }
        }
    }

    /// What paths lead to from what matches is there, and all that is there is as it is.
    private func checkRelated(
        _ answer: Verdicts, _ item: VerdictItem, _ bench: CommitBench, _ what: String
    ) throws {
        for object in answer.related {
            let stored = try bench.store.stored(object.object)
            #expect(stored == object, "\(what)")
        }
        let compiled = try item.compiled(try bench.model)
        var related = RelatedRows(
            bench.store, try bench.model, nil, AnswerSize(bench.committer))
        for verdict in answer.items[0] where verdict.matches {
            let row = try #require(verdict.row)
            for path in compiled.paths { try related.follow(path.hops[...], from: row) }
        }
        #expect(Set(related.objects).isSubset(of: answer.related), "\(what)")
    }

    @Test
    func `law 4: verdicts on the way between two positions are the same whatever others save`()
        throws
    {
        for round in UInt64(0)..<4 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 900 &+ round)
            for _ in 0..<30 { try graph.step() }
            var ends: [UInt64] = []
            for _ in 0..<3 {
                ends.append(graph.bench.committer.position)
                for _ in 0..<3 { try graph.step() }
            }
            for (from, to) in [(ends[0], ends[2]), (ends[1], ends[0]), (ends[2], ends[1])] {
                let request = VerdictRequest(from: from, items: VerdictTests.lists, at: to)
                var still = try question(request, graph)
                _ = try run(&still, &graph, &random, saves: 0)
                let expected = still.answer(graph.bench.committer)
                var busy = try question(request, graph)
                _ = try run(&busy, &graph, &random, saves: 20)
                let found = busy.answer(graph.bench.committer)
                let what = "seed \(seed) round \(round) from \(from) to \(to)"
                #expect(found.position == to)
                for (item, pair) in zip(VerdictTests.lists, zip(found.items, expected.items)) {
                    // What others changed since is undone, and then has the position as its version.
                    #expect(pair.0.allSatisfy { $0.version <= to }, "\(what)")
                    #expect(
                        pair.0.map(\.unversioned) == pair.1.map(\.unversioned),
                        "\(what): \(item.request)")
                }
                #expect(found.related.map(\.row) == expected.related.map(\.row), "\(what)")
            }
        }
    }
}

extension Verdict {
    fileprivate var unversioned: Verdict {
        Verdict(object: object, matches: matches, refreshed: refreshed, version: 0, row: row)
    }
}
