import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// A fetch of values in steps between which others save is one at the end.
@Suite struct ColumnStepTests {
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

    private func rows(
        _ fetch: Fetch, _ graph: inout RandomGraph, budget: () -> Int,
        between: (inout RandomGraph) throws -> Void
    ) throws -> [[Value]] {
        let committer = graph.bench.committer
        let read = try ReadUnderWay(
            .fetch(fetch), fetch, at: fetch.at, id: 1, in: try graph.bench.model, committer)
        var left = budget()
        while !(try read.step(committer, &left)) {
            try between(&graph)
            left = budget()
        }
        #expect(read.past != nil || read.position == committer.position)
        return try #require(read.columns).rows
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
                let share = Int.random(in: 0...40, using: &random)
                var saves = 0
                let what = "seed \(seed) round \(round): \(columns)"
                let found = try rows(fetch, &graph) {
                    Int.random(in: 1...3, using: &random)
                } between: { graph in
                    guard saves < 25, Int.random(in: 0..<100, using: &random) < share else {
                        return
                    }
                    try graph.step()
                    saves += 1
                }
                let whole = try rows(fetch, &graph) {
                    .max >> 1
                } between: { _ in
                }
                #expect(found == whole, "\(what)")
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
                let whole = try rows(now, &graph) {
                    .max >> 1
                } between: { _ in
                }
                let fetch = Fetch(
                    request: request, at: graph.bench.committer.position, columns: columns)
                for _ in 0..<5 { try graph.step() }
                var saves = 0
                let found = try rows(fetch, &graph) {
                    Int.random(in: 1...3, using: &random)
                } between: { graph in
                    guard saves < 25, Int.random(in: 0..<4, using: &random) == 0 else { return }
                    try graph.step()
                    saves += 1
                }
                #expect(found == whole, "seed \(seed) round \(round): \(columns)")
            }
        }
    }

    // MARK: Turns

    /// Nodes of a hundred ranks.
    private func bench(_ count: Int) throws -> EngineBench {
        var limits = DaemonLimits()
        limits.sliceReads = 10
        let bench = try EngineBench(limits: limits, engineClock: ManualClock())
        _ = try bench.bench.committer.lease(1 << 20)
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
        let (asker, saver) = (try bench.client(), try bench.client())
        let fetch = Fetch(
            request: FetchRequest(entity: "Node"),
            columns: Self.columns(["rank", "@count"], by: ["rank"]))
        let question = try asker.send(.fetch(fetch))
        var turns = 0
        while asker.received.isEmpty, turns < 1_000 {
            let id = try saver.send(.save(saver.saveRequest([try save(turns)])))
            try bench.turn()
            try saver.read()
            #expect(saver.received.last?.id == id)
            try asker.read()
            turns += 1
        }
        guard case .fetched(let found) = try asker.answer(question) else {
            Issue.record("no answer")
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
