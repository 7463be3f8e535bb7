import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon
@testable import TandemStore

/// Verdicts over unreadable data: they are correct, or an error.
@Suite(.ownThread) struct VerdictFailureTests {
    /// Returns a node of a group with a tag, and the position before its last change.
    private func prepared() throws -> (bench: CommitBench, from: UInt64) {
        let bench = try CommitBench()
        try bench.save([try bench.insert("Group", 1, ["title": .string("a")])])
        try bench.save([try bench.insert("Tag", 2, ["label": .string("a")])])
        try bench.save([
            try bench.insert(
                "Node", 3, ["group": .reference(try bench.reference("Group", 1))],
                links: ["tags": [try bench.reference("Tag", 2)]])
        ])
        let from = bench.committer.position
        try bench.save([try bench.update("Node", 3, ["rank": .int(5)])])
        return (bench, from)
    }

    private func verdicts(
        _ format: String, _ bench: CommitBench, after from: UInt64
    ) throws -> [Bool] {
        let request = FetchDescriptor(
            entity: "Node", predicate: try ObjectPredicate(format: format))
        let answer = try bench.verdicts(
            VerdictRequest(from: from, items: [VerdictItem(request: request)]))
        return answer.items[0].map(\.matches)
    }

    private func code(_ body: () throws -> Void) -> TandemError.Code? {
        #expect(throws: TandemError.self, performing: body)?.code
    }

    @Test func `law 4: a related row that can't be read is an error, not a mismatch`()
        throws
    {
        let (bench, from) = try prepared()
        #expect(try verdicts("group.title == 'a'", bench, after: from) == [true])
        let key = StoreKey.row(try bench.reference("Group", 1))
        try bench.store.current.put(bench.store.tables.rows, key, [1, 2, 3])
        bench.store.forgetCached()
        #expect(code { _ = try verdicts("group.title == 'a'", bench, after: from) } == .storage)
        #expect(try verdicts("rank == 5", bench, after: from) == [true])
    }

    @Test func `law 4: members that can't be read are an error, in both directions`() throws {
        let (bench, from) = try prepared()
        #expect(try verdicts("ANY tags.label == 'a'", bench, after: from) == [true])
        try bench.save([try bench.update("Tag", 2, ["label": .string("b")])])
        let relationship = try #require(
            try bench.entity("Tag").property(named: "nodes")?.relationship)
        let back = StoreKey.link(relationship.linkID, 2, 3)
        try bench.store.current.put(bench.store.tables.links, back, [1])
        let end = bench.committer.position - 1
        #expect(code { _ = try verdicts("ANY tags.label == 'b'", bench, after: end) } == .storage)
        let forth = try #require(try bench.entity("Node").property(named: "tags")?.relationship)
        try bench.store.current.put(
            bench.store.tables.links, StoreKey.link(forth.linkID, 3, 2), [1])
        #expect(code { _ = try verdicts("ANY tags.label == 'b'", bench, after: from) } == .storage)
    }

    @Test func `law 7: verdicts beyond the evaluation limit are refused, at any position`()
        throws
    {
        let bench = try EngineBench()
        let client = try bench.client()
        let start = bench.position.number
        let text = PropertyValue.string(String(repeating: "x", count: 30_000))
        for first in stride(from: UInt64(1), through: 600, by: 20) {
            try client.save(
                try (first..<first + 20).map { try bench.bench.insert("Node", $0, ["name": text]) })
        }
        let end = bench.position.number
        func code(from: UInt64, at: UInt64) throws -> TandemError.Code? {
            let item = VerdictItem(request: FetchDescriptor(entity: "Node"))
            let request = VerdictRequest(from: from, items: [item], at: at)
            guard case .failure(let error) = try client.ask(.verdicts(request)) else { return nil }
            return error.code
        }
        for (from, at) in [(start, 0), (start, end), (end, start), (start, start + 1)] {
            #expect(try code(from: from, at: at) == .historyExpired, "\(from) to \(at)")
        }
        #expect(try code(from: end - 2, at: 0) == nil)
        #expect(try code(from: end - 2, at: end - 1) == nil)
    }

    @Test func `law 7: many lists in one request read no more together than one list may`()
        throws
    {
        // A request that is too expensive by itself is refused regardless of the position.
        for (reads, one, many) in [
            (1 << 24, nil, nil), (1_000, nil, .historyExpired),
            (50, .limitExceeded, .limitExceeded),
        ] as [(Int, TandemError.Code?, TandemError.Code?)] {
            #expect(try code(1, requestReads: reads) == one)
            #expect(try code(20, requestReads: reads) == many)
        }
    }

    /// Returns the error of a request for verdicts on equal lists, in each of which a hundred
    /// objects are affected.
    private func code(_ lists: Int, requestReads: Int) throws -> TandemError.Code? {
        var limits = DaemonLimits()
        limits.requestReads = requestReads
        let bench = try EngineBench(limits: limits)
        let client = try bench.client()
        try client.save([try bench.bench.insert("Group", 1, ["title": .string("g")])])
        let group = PropertyValue.reference(try bench.bench.reference("Group", 1))
        try client.save(
            try (UInt64(2)...101).map { try bench.bench.insert("Node", $0, ["group": group]) })
        let from = bench.position.number
        try client.save([try bench.bench.update("Group", 1, ["title": .string("h")])])
        let predicate = try ObjectPredicate(format: "group.title == 'h'")
        let item = VerdictItem(request: FetchDescriptor(entity: "Node", predicate: predicate))
        let items = Array(repeating: item, count: lists)
        switch try client.ask(.verdicts(VerdictRequest(from: from, items: items))) {
        case .verdicts(let answer):
            #expect(answer.items.map(\.count) == Array(repeating: 100, count: lists))
            return nil
        case .failure(let error): return error.code
        default: return .usage
        }
    }
}
