import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Fetches of values from a snapshot, which return the values at the snapshot's position.
@Suite(.ownThread) struct SnapshotColumnTests {
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

    @Test(arguments: [false, true])
    func `law 4: values are those of the answer's position, whatever is saved meanwhile`(
        isPast: Bool
    ) throws {
        for round in UInt64(0)..<4 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 700 &+ round)
            for _ in 0..<40 { try graph.step() }
            for columns in Self.all {
                let request = FetchDescriptor(entity: "Node")
                var fetch = Fetch(request: request, columns: columns)
                let before = try graph.bench.fetched(fetch).values
                if isPast {
                    fetch.at = graph.bench.committer.position
                    for _ in 0..<5 { try graph.step() }
                }
                let (answer, expected) = try graph.inSnapshot(.fetch(fetch), &random) {
                    try $0.fetched(fetch)
                }
                let found = try answer.fetched
                #expect(found == expected, "seed \(seed) round \(round): \(columns)")
                if isPast {
                    #expect(found.values == before, "seed \(seed) round \(round): \(columns)")
                }
            }
        }
    }

    @Test func `law 7: saves are committed while a fetch of values has a reader`() throws {
        let bench = try EngineBench.ofReaders(engineClock: ManualClock())
        try bench.insertNodes(400)
        let fetch = Fetch(
            request: FetchDescriptor(entity: "Node"),
            columns: Self.columns(["rank", "@count"], by: ["rank"]))
        let (answer, asked) = try bench.holding(.fetch(fetch), turns: 40) {
            $0 % 2 == 0
                ? try bench.bench.update("Node", 2, ["rank": .int(Int64(50 - $0))])
                : try bench.bench.insert("Node", UInt64(10_000 + $0), ["rank": .int(3)])
        }
        let found = try answer.fetched
        #expect(found.position == asked && found.count == found.values.count)
        #expect(
            found.values
                == (0..<100).map { (rank: Int64) -> [PropertyValue] in [.int(rank), .int(4)] })
        #expect(bench.engine.reads.bytes.held == 0)
    }
}
