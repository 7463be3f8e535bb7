import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// What the daemon tells of how it fetches.
@Suite(.ownThread) struct ExplainTests {
    @Test func `index, rows read and rows returned are told, to readers too`() throws {
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
        let request = FetchRequest(entity: "Node", predicate: predicate, limit: 3)
        func explain(_ fetch: Fetch) throws -> Explained? {
            guard case .explained(let answer) = try reader.ask(.explain(fetch)) else { return nil }
            return answer
        }
        let found = try #require(try explain(Fetch(request: request)))
        #expect(found.steps.map(\.access) == [.index] && found.steps[0].properties == ["rank"])
        #expect(found.rowsRead <= 4 && found.returned == 3)
        #expect(found.position == bench.position.number)
        let count = try #require(try explain(Fetch(request: request, kind: .count)))
        #expect(count.rowsRead == 0 && count.keysRead == 4 && count.returned == 4)
        let wrong = try reader.ask(.explain(Fetch(request: FetchRequest(entity: "Nobody"))))
        guard case .failure(let error) = wrong else {
            Issue.record("an unknown entity was explained")
            return
        }
        #expect(error.code == .unknownEntity)
    }
}
