import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// The bound on the cost of reads on the daemon's thread, including members and related rows.
@Suite(.ownThread) struct LittleReadTests {
    /// Returns a daemon with a hundred nodes in one group, and this bound on little reads.
    private func bench(work: Int) throws -> EngineBench {
        let bench = try EngineBench.ofReaders()
        try bench.insertNodes(100, isGrouped: true)
        bench.engine.reads.setEffort(littleWork: work)
        bench.holdReaders(true)
        return bench
    }

    /// Returns whether a request is answered without a reader; waits for the answer in both cases.
    private func isAnsweredAtOnce(_ message: ClientMessage, _ bench: EngineBench) throws -> Bool {
        let client = try bench.client()
        bench.holdReaders(true)
        let id = try client.send(message)
        for _ in 0..<5 { try bench.turn() }
        let isAtOnce = client.session.read == nil
        bench.holdReaders(false)
        if case .failure(let error) = try client.answer(id) { throw error }
        return isAtOnce
    }

    @Test(arguments: [(8, false), (200, true)])
    func `law 7: a relationship with many members is read by a reader`(
        _ work: Int, _ isAtOnce: Bool
    ) throws {
        let bench = try bench(work: work)
        let (owner, entity) = (
            try bench.bench.reference("Group", 1), try bench.bench.entity("Group")
        )
        let members = MemberRequest(owner: owner, slot: try #require(entity.slot(of: "nodes")))
        let read = Read(
            objects: [], members: [members], modelVersion: try bench.bench.model.version)
        #expect(try isAnsweredAtOnce(.read(read), bench) == isAtOnce)
    }

    @Test(arguments: [(1, true), (20, false)])
    func `law 7: a fetch with many related objects is run by a reader`(
        _ paths: Int, _ isAtOnce: Bool
    ) throws {
        let bench = try bench(work: 800)
        var fetch = Fetch(request: FetchRequest(entity: "Node"))
        fetch.related = (0..<paths).map { ["path \($0)"] }
        #expect(try isAnsweredAtOnce(.fetch(fetch), bench) == isAtOnce)
    }
}
