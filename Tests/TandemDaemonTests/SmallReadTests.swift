import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// The bound on the cost of reads on the daemon's thread, including members and related rows.
@Suite(.ownThread) struct SmallReadTests {
    /// Returns a daemon with nodes in one group, and this bound on little reads.
    private func bench(nodes count: Int = 100, work: Int) throws -> EngineBench {
        let bench = try EngineBench.ofReaders()
        try bench.insertNodes(count, isGrouped: true)
        bench.engine.reads.smallReadWork = work
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

    @Test func `law 7: the members of a large relationship are counted before they are read`()
        throws
    {
        let bench = try bench(nodes: 5_000, work: 8)
        let (owner, entity) = (
            try bench.bench.reference("Group", 1), try bench.bench.entity("Group")
        )
        let members = MemberRequest(owner: owner, slot: try #require(entity.slot(of: "nodes")))
        let read = Read(
            objects: [], members: [members], modelVersion: try bench.bench.model.version)
        var checks = 0
        let run = ReadRun(
            view: bench.bench.store, model: try bench.bench.model, limits: DaemonLimits(),
            counts: LimitCounters(), smallReadWork: 8
        ) { _ in checks += 1 }
        let error = #expect(throws: StoreError.self) { try run.answer(.objects(read)) }
        // The check is called for each thousand members that are read.
        #expect(error?.code == .interrupted && checks == 0)
    }

    @Test(arguments: [(3, true), (30, false)])
    func `law 7: a search over many hops for many changes is run by a reader`(
        _ hopCount: Int, _ isAtOnce: Bool
    ) throws {
        let bench = try bench(work: DaemonLimits.smallReadWork)
        let from = bench.position.number
        try bench.bench.save(try (1_000..<1_600).map { try bench.bench.insert("Tag", $0) })
        let path = Array(repeating: "parent", count: hopCount).joined(separator: ".") + ".name"
        let item = VerdictItem(
            request: FetchDescriptor(entity: "Node"), refreshKeyPaths: [path])
        let request = ClientMessage.verdicts(VerdictRequest(from: from, items: [item]))
        #expect(try isAnsweredAtOnce(request, bench) == isAtOnce)
    }

    @Test(arguments: [(1, true), (20, false)])
    func `law 7: a fetch with many related objects is run by a reader`(
        _ paths: Int, _ isAtOnce: Bool
    ) throws {
        let bench = try bench(work: 800)
        var fetch = Fetch(request: FetchDescriptor(entity: "Node"))
        fetch.related = (0..<paths).map { ["path \($0)"] }
        #expect(try isAnsweredAtOnce(.fetch(fetch), bench) == isAtOnce)
    }

    // MARK: The cost of predicates

    /// Thirty searches in texts.
    private static let searches = (1...30).map { "name CONTAINS[cd] 'q\($0)'" }
        .joined(separator: " OR ")

    /// Twenty nodes with texts of a thousand bytes, all of which changed after the position.
    private func benchOfTexts() throws -> (bench: EngineBench, from: UInt64) {
        let bench = try EngineBench.ofReaders()
        bench.engine.reads.smallReadWork = DaemonLimits.smallReadWork
        let from = bench.position.number
        let text = PropertyValue.string(String(repeating: "long ", count: 200))
        try bench.bench.save(
            try (1...20).map { try bench.bench.insert("Node", $0, ["name": text]) })
        return (bench, from)
    }

    private func request(_ format: String?) throws -> FetchDescriptor {
        FetchDescriptor(
            entity: "Node", predicate: try format.map { try ObjectPredicate(format: $0) })
    }

    /// The requests that evaluate a predicate on each of the twenty nodes.
    private func requests(_ format: String, from: UInt64) throws -> [String: ClientMessage] {
        let fetch = Fetch(request: try request(format))
        var grouped = FetchColumns(["name", "@count"], groupBy: ["name"])
        grouped.having = try ObjectPredicate(
            format: format.replacing("rank", with: "@count"))
        let item = VerdictItem(request: try request(format))
        return [
            "fetch": .fetch(fetch), "explain": .explain(fetch),
            "having": .fetch(Fetch(request: try request(nil), columns: grouped)),
            "verdicts": .verdicts(VerdictRequest(from: from, items: [item])),
            "fetch with verdicts": .verdicts(
                VerdictRequest(from: from, items: [], alongside: .fetch(fetch))),
        ]
    }

    @Test(arguments: [("rank = 5", true), (searches, false)])
    func `law 7: predicates that search many texts are evaluated by a reader`(
        _ format: String, _ isAtOnce: Bool
    ) throws {
        let (bench, from) = try benchOfTexts()
        for (kind, message) in try requests(format, from: from) {
            #expect(try isAnsweredAtOnce(message, bench) == isAtOnce, "\(kind)")
        }
    }

    @Test func `law 7: verdicts on many list elements or key paths are computed by a reader`()
        throws
    {
        let (bench, from) = try benchOfTexts()
        func isAtOnce(_ items: [VerdictItem]) throws -> Bool {
            try isAnsweredAtOnce(.verdicts(VerdictRequest(from: from, items: items)), bench)
        }
        func item(elements count: Int) throws -> VerdictItem {
            let elements = (1...count).map(String.init).joined(separator: ", ")
            return VerdictItem(request: try request("rank IN {\(elements)}"))
        }
        let few = Array(repeating: try item(elements: 8), count: 4)
        #expect(try isAtOnce(few))
        #expect(try isAtOnce([try item(elements: 4_000)]))
        #expect(try !isAtOnce([try item(elements: 5_000)]))
        // The elements of all lists count together.
        #expect(try !isAtOnce(Array(repeating: try item(elements: 500), count: 10)))
        var sorted = try item(elements: 1)
        sorted.request.sort = (0..<63).map { _ in SortComponent("rank") }
        #expect(try isAtOnce([sorted, sorted]))
        #expect(try !isAtOnce(Array(repeating: sorted, count: 5)))
    }
}
