import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Verdicts from a snapshot, which hold for its position, whatever is saved meanwhile.
@Suite(.ownThread) struct SnapshotVerdictTests {
    @Test func `law 4: several lists in one request have the verdicts of each alone`() throws {
        for round in UInt64(0)..<3 {
            var graph = try RandomGraph(seed: seed &+ 700 &+ round)
            for _ in 0..<30 { try graph.step() }
            for count in 1...6 {
                let from = graph.bench.committer.position
                for _ in 0..<count { try graph.step() }
                let what = "seed \(seed) round \(round), \(count) after \(from)"
                let answer = try graph.bench.verdicts(
                    VerdictRequest(from: from, items: VerdictTests.lists))
                var related: Set<StoredObject> = []
                for (item, verdicts) in zip(VerdictTests.lists, answer.items) {
                    let alone = try graph.bench.verdicts(VerdictRequest(from: from, items: [item]))
                    #expect(alone.items == [verdicts], "\(what): \(item.request)")
                    related.formUnion(alone.related)
                }
                #expect(answer.items.count == VerdictTests.lists.count)
                #expect(Set(answer.related) == related, "\(what)")
                #expect(answer.position == graph.bench.committer.position)
            }
        }
    }

    @Test func `law 4: verdicts are those of the snapshot's position, whatever is saved meanwhile`()
        throws
    {
        for round in UInt64(0)..<4 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 800 &+ round)
            for _ in 0..<30 { try graph.step() }
            for item in VerdictTests.lists {
                let old = try ListSnapshot(item, graph.bench)
                let from = graph.bench.committer.position
                for _ in 0..<Int.random(in: 0...2, using: &random) { try graph.step() }
                let request = VerdictRequest(from: from, items: [item])
                let (answer, expected) = try graph.inSnapshot(.verdicts(request), &random) {
                    bench in
                    let verdicts = try bench.verdicts(request)
                    let what = "seed \(seed) round \(round) after \(from): \(item.request)"
                    try VerdictTests.check(verdicts.items[0], item, old, bench, what)
                    try checkRelated(verdicts, item, bench, what)
                    return verdicts
                }
                let found = try answer.verdicts
                #expect(found == expected, "seed \(seed) round \(round): \(item.request)")
            }
        }
    }

    /// Checks that the related objects of matches are present, and that their rows are the stored
    /// ones.
    private func checkRelated(
        _ answer: Verdicts, _ item: VerdictItem, _ bench: CommitBench, _ what: String
    ) throws {
        for object in answer.related {
            let stored = try bench.store.stored(object.object)
            #expect(stored == object, "\(what)")
        }
        let compiled = try item.compiled(try bench.model)
        let run = ReadRun(
            view: bench.store, model: try bench.model, limits: bench.committer.limits,
            counts: bench.committer.limitCounters)
        var related = RelatedRows(run, ReadBudget())
        for verdict in answer.items[0] where verdict.matches {
            let row = try #require(verdict.row)
            for path in compiled.paths { try related.follow(path.hops[...], from: row) }
        }
        #expect(Set(related.objects).isSubset(of: answer.related), "\(what)")
    }

    @Test
    func `law 4: verdicts between two positions are the same whatever others save`()
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
                let expected = try graph.bench.verdicts(request)
                let (answer, again) = try graph.inSnapshot(.verdicts(request), &random) {
                    try $0.verdicts(request)
                }
                let found = try answer.verdicts
                #expect(found == again)
                let what = "seed \(seed) round \(round) from \(from) to \(to)"
                #expect(found.position == to)
                for (item, pair) in zip(VerdictTests.lists, zip(found.items, expected.items)) {
                    // Later changes by others are undone; the object then has the position as its
                    // version.
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
