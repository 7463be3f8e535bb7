import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// The plans and counts that the daemon reports for a fetch.
@Suite(.ownThread) struct ExplainTests {
    @Test func `index, rows read and rows returned are reported, to readers too`() throws {
        var policy = RolePolicy()
        policy.users[.reader] = [5_001]
        let bench = try EngineBench(roles: policy)
        let saver = try bench.client()
        try saver.save(
            try (1...200).map {
                try bench.bench.insert("Node", UInt64($0), ["rank": .int(Int64($0 % 50))])
            })
        let reader = try bench.client(as: PeerCredentials(uid: 5_001, gid: 1, pid: 2))
        let predicate = try ObjectPredicate(format: "rank == 3")
        let request = FetchDescriptor(entity: "Node", predicate: predicate, limit: 3)
        func explain(_ fetch: Fetch) throws -> ExplainAnswer? {
            guard case .explained(let answer) = try reader.ask(.explain(fetch)) else { return nil }
            return answer
        }
        let found = try #require(try explain(Fetch(request: request)))
        #expect(found.steps.map(\.access) == [.index] && found.steps[0].properties == ["rank"])
        #expect(found.rowsRead <= 4 && found.returned == 3)
        #expect(found.output == .rows && !found.steps[0].needsOnlyKeys)
        #expect(found.position == bench.position.number)
        let count = try #require(try explain(Fetch(request: request, kind: .count)))
        #expect(count.rowsRead == 0 && count.keysRead == 4 && count.returned == 4)
        #expect(count.output == .count && count.steps[0].needsOnlyKeys)
        let wrong = try reader.ask(.explain(Fetch(request: FetchDescriptor(entity: "Nobody"))))
        guard case .failure(let error) = wrong else {
            Issue.record("an unknown entity was explained")
            return
        }
        #expect(error.code == .unknownEntity)
    }

    private func bench(chunkBytes: Int = 1 << 20) throws -> (EngineBench, Peer) {
        var limits = DaemonLimits()
        limits.chunkBytes = chunkBytes
        let bench = try EngineBench(limits: limits)
        let client = try bench.client()
        try client.save(
            try (1...20).map {
                try bench.bench.insert("Node", UInt64($0), ["rank": .int(Int64($0 % 4))])
            })
        return (bench, client)
    }

    private func explained(_ fetch: Fetch, _ client: Peer) throws -> ExplainAnswer {
        let answer = try client.ask(.explain(fetch))
        guard case .explained(let explained) = answer else {
            throw TandemError(.storage, "\(answer)")
        }
        return explained
    }

    @Test func `immediate answers and answers of readers are reported as such`() throws {
        let (bench, client) = try bench()
        let fetch = Fetch(request: FetchDescriptor(entity: "Node"))
        let little = try explained(fetch, client)
        #expect(little.atOnce)
        bench.engine.reads.smallReadWork = 0
        var queued = try explained(fetch, client)
        #expect(!queued.atOnce)
        queued.atOnce = true
        #expect(queued == little)
    }

    @Test func `an answer of several messages is not answered at once`() throws {
        let (bench, client) = try bench(chunkBytes: 1)
        defer { withExtendedLifetime(bench) {} }
        let request = FetchDescriptor(entity: "Node")
        #expect(try !explained(Fetch(request: request), client).atOnce)
        #expect(try explained(Fetch(request: request, kind: .count), client).atOnce)
    }

    @Test func `the kind of answer is reported, with the number of its elements`() throws {
        let (bench, client) = try bench()
        defer { withExtendedLifetime(bench) {} }
        let request = FetchDescriptor(entity: "Node", limit: 7, offset: 3)
        func columns(_ names: String..., by groups: [String] = []) -> Fetch {
            Fetch(
                request: FetchDescriptor(entity: "Node"),
                columns: FetchColumns(names.compactMap { FetchColumn($0) }, groupBy: groups))
        }
        for (fetch, output, returned) in [
            (Fetch(request: request), FetchOutput.rows, UInt64(7)),
            (Fetch(request: request, kind: .references), .ids, 7),
            (Fetch(request: request, kind: .count), .count, 20),
            (Fetch(request: request, list: ListDetails(rowsUpTo: 2)), .list, 7),
            (columns("rank"), .columns, 20), (columns("rank", "@count", by: ["rank"]), .groups, 4),
        ] {
            let found = try explained(fetch, client)
            #expect(found.output == output && found.returned == returned, "\(output)")
        }
    }
}
