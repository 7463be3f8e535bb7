import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// A fetch of values in steps between which others save is one at the end.
@Suite(.ownThread) struct ColumnStepTests {
    private static func columns(
        _ names: [String], by groups: [String] = [], distinct: Bool = false
    ) -> FetchColumns {
        FetchColumns(names.compactMap { FetchColumn($0) }, groupBy: groups, isDistinct: distinct)
    }

    private static let all = [
        columns(["@count", "@sum.rank", "@max.name"], by: ["group.title"]),
        columns(["@count", "@min.parent.rank"]),
        columns(["name", "group.title", "parent.group.title"]),
        columns(["group.title", "code"], distinct: true),
    ]

    private func read(_ fetch: Fetch, _ graph: RandomGraph) throws -> ReadUnderWay {
        try ReadUnderWay(
            .fetch(fetch), fetch, at: fetch.at, id: 1, in: try graph.bench.model,
            graph.bench.committer)
    }

    @Test func `law 4: a fetch of values in steps of a few gives what one at its end gives`() throws
    {
        for round in UInt64(0)..<4 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 700 &+ round)
            for _ in 0..<40 { try graph.step() }
            for columns in Self.all {
                let fetch = Fetch(
                    request: FetchRequest(entity: "Node"), columns: columns)
                let percent = Int.random(in: 0...40, using: &random)
                let found = try graph.inSteps(
                    try read(fetch, graph), &random, savingPercent: percent)
                let whole = try graph.atOnce(try read(fetch, graph))
                #expect(
                    try #require(found.columns).rows == whole.columns?.rows,
                    "seed \(seed) round \(round): \(columns)")
            }
        }
    }

    @Test func `law 4: at an earlier position they are what they were there`() throws {
        for round in UInt64(0)..<4 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 800 &+ round)
            for _ in 0..<40 { try graph.step() }
            for columns in Self.all {
                let request = FetchRequest(entity: "Node")
                let now = Fetch(request: request, columns: columns)
                let whole = try graph.atOnce(try read(now, graph))
                let fetch = Fetch(
                    request: request, at: graph.bench.committer.position, columns: columns)
                for _ in 0..<5 { try graph.step() }
                let found = try graph.inSteps(try read(fetch, graph), &random, savingPercent: 25)
                #expect(
                    try #require(found.columns).rows == whole.columns?.rows,
                    "seed \(seed) round \(round): \(columns)")
            }
        }
    }

    // MARK: Turns

    /// Nodes of a hundred ranks.
    private func bench(_ count: Int) throws -> EngineBench {
        let bench = try EngineBench.ofSmallTurns()
        try bench.bench.save(
            try (0..<count).map {
                try bench.bench.insert("Node", UInt64($0 + 2), ["rank": .int(Int64($0 % 100))])
            })
        return bench
    }

    /// Asks for ranks with their numbers, and saves at each turn.
    private func turns(
        _ bench: EngineBench, _ save: (Int) throws -> SaveOperation
    ) throws -> (turns: Int, rows: [[Value]]) {
        let fetch = Fetch(
            request: FetchRequest(entity: "Node"),
            columns: Self.columns(["rank", "@count"], by: ["rank"]))
        let (turns, answer) = try bench.turns(.fetch(fetch), saving: save)
        guard case .fetched(let found) = answer else {
            Issue.record("no rows: \(answer)")
            return (turns, [])
        }
        #expect(found.position == bench.position.number && found.count == found.values.count)
        return (turns, found.values)
    }

    @Test func `law 7: saves get positions while the rows of a fetch of values are made`() throws {
        let bench = try bench(400)
        let (turns, rows) = try turns(bench) {
            try bench.bench.insert("Group", UInt64(10_000 + $0), ["title": .string("g")])
        }
        // As many to make the rows as to find the objects.
        #expect(turns >= 2 * 400 / 10 - 2 && turns < 200, "\(turns)")
        #expect(rows == (0..<100).map { (rank: Int64) -> [Value] in [.int(rank), .int(4)] })
    }

    @Test func `law 7: rows that others alter faster than they are made are made all the same`()
        throws
    {
        let bench = try bench(400)
        let (turns, rows) = try turns(bench) {
            try bench.bench.update("Node", 2, ["rank": .int(Int64(100 + $0))])
        }
        #expect(turns < 200, "\(turns)")
        #expect(rows.count == 101 && rows.first == [Value.int(0), .int(3)])
        #expect(bench.engine.readBytes == 0)
    }
}
