import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The placement of an object, with its sort key and section.
private struct Placed: Equatable {
    var object: ObjectReference
    var key: [UInt8]
    var section: String
    var reached: [ObjectReference?]

    static func all(_ places: ListPlacements) -> [Placed] {
        (0..<places.count).map { index in
            Placed(
                object: places.object(index), key: Array(places.key(index)),
                section: places.sections[Int(places.sectionIndex(index))],
                reached: places.links(index).map { $0 == 0 ? nil : places.reached[Int($0) - 1] })
        }
    }

    /// Returns whether the daemon leaves out links because they refer to more than `count` objects.
    static func reachMore(than count: UInt32, _ all: [Placed]) -> Bool {
        Set(all.flatMap(\.reached).compactMap(\.self)).count > count
    }

    /// Returns the placements that a client would compute from the rows.
    static func all(
        _ rows: StoredObjects, _ request: CompiledRequest, _ store: Store
    ) -> [Placed] {
        let reader = StoreReader(store)
        func follow(_ name: String, from row: Row?) -> ObjectReference? {
            guard let row, let entity = request.model.entity(tagged: row.tag),
                let slot = entity.slot(of: name)
            else { return nil }
            return row.reference(slot, in: entity)
        }
        return rows.map { stored in
            var section = ""
            if case .known(let name) = request.section(stored.object, stored.row, reader) {
                section = name
            }
            let parent = follow("parent", from: stored.row)
            var parentRow: Row?
            if let parent, case .row(let row) = reader.row(of: parent) { parentRow = row }
            let isNode = request.entity.name == "Node"
            let reached = [
                follow("group", from: stored.row), parent, follow("group", from: parentRow),
            ]
            return Placed(
                object: stored.object,
                key: request.sortKey(stored.object, stored.row, reader) ?? [],
                section: section, reached: isNode ? reached : [])
        }
    }
}

/// Fetches from a snapshot, which return the state at its position, whatever is saved meanwhile.
@Suite(.ownThread) struct SnapshotFetchTests {
    /// Requests answered with each kind of access path, besides those of the verdict tests.
    private static func requests(_ random: inout SplitMix64) throws -> [FetchDescriptor] {
        let group = ObjectID(entity: "Group", number: UInt64.random(in: 1...30, using: &random))
        let found = try [
            ObjectPredicate(format: "rank >= 1 AND rank < 3"),
            ObjectPredicate(format: "rank IN {1, 2, 1}"),
            ObjectPredicate(format: "code == 'a' OR code == 'b'"),
            ObjectPredicate(format: "code == 'a'"),
            ObjectPredicate(format: "group == %@", arguments: [.object(group)]),
        ].map { FetchDescriptor(entity: "Node", predicate: $0, sort: ["name"]) }
        return found + VerdictTests.lists.map(\.request)
    }

    @Test(arguments: [1, DaemonLimits().chunkBytes])
    func `law 4: a fetch returns the state at its position, whatever is saved meanwhile`(
        _ chunkBytes: Int
    ) throws {
        var limits = DaemonLimits()
        limits.chunkBytes = chunkBytes
        for round in UInt64(0)..<Volume.of(1, deep: 3) {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 900 &+ round, limits: limits)
            for _ in 0..<30 { try graph.step() }
            let kinds = [Fetch.Kind.rows, .references, .count, .list]
            for (place, kind) in kinds.enumerated() {
                let requests = try Self.requests(&random).enumerated()
                // Each pair of a request and a kind is tested with one of the two chunk sizes.
                let own = place + (chunkBytes == 1 ? 1 : 0)
                for (index, made) in requests
                where Volume.isDeep || (index + own).isMultiple(of: 2) {
                    var request = made
                    if Bool.random(using: &random) {
                        request.limit = Int.random(in: 0...6, using: &random)
                        request.offset = Int.random(in: 0...3, using: &random)
                    }
                    let list = kind == .list ? Self.details(of: request, &random) : nil
                    let fetch = Fetch(
                        request: request, kind: kind,
                        related: request.entity == "Node" ? [["group"], ["parent", "group"]] : [],
                        list: list)
                    try check(fetch, &graph, &random, "seed \(seed) round \(round): \(request)")
                }
            }
        }
    }

    /// Returns the details requested for a list, with hops and a section that each of its entities
    /// has.
    private static func details(
        of request: FetchDescriptor, _ random: inout SplitMix64
    ) -> ListDetails {
        let isNode = request.entity == "Node"
        let section = isNode ? request.sort.first?.keyPath ?? "group.title" : nil
        return ListDetails(
            sectionKeyPath: section, refreshKeyPaths: isNode ? ["parent.group.title"] : [],
            hops: isNode ? [["group"], ["parent"], ["parent", "group"]] : [],
            rowsUpTo: UInt32.random(in: 0...4, using: &random))
    }

    private struct Expected {
        /// The store's answer from its open write transaction.
        let answer: FetchAnswer
        /// The answer of a brute-force evaluation.
        let rows: StoredObjects
        let count: Int
        let placed: [Placed]
    }

    private func check(
        _ fetch: Fetch, _ graph: inout RandomGraph, _ random: inout SplitMix64, _ what: String
    ) throws {
        let request = try fetch.compiled(in: try graph.bench.model)
        let (answer, expected) = try graph.inSnapshot(.fetch(fetch), &random) { bench in
            let rows = try bench.naive(fetch.request, limit: fetch.request.limit)
            return Expected(
                answer: try bench.fetched(fetch), rows: rows,
                count: rows.count,
                placed: Placed.all(rows, request, bench.store))
        }
        let found = try answer.fetched
        #expect(found == expected.answer, "\(what)")
        switch fetch.kind {
        case .rows: #expect(found.objects == expected.rows, "\(what)")
        case .references: #expect(found.references == expected.rows.map(\.object), "\(what)")
        case .list:
            if let places = found.places {
                let most = fetch.list?.rowsUpTo ?? 0
                #expect(places.count > Int(most))
                var placed = expected.placed
                if places.hopCount == 0, !(fetch.list?.hops ?? []).isEmpty {
                    // Related objects of rows outside offset and limit count as well.
                    #expect(
                        Placed.reachMore(than: most, placed) || fetch.request.offset > 0
                            || fetch.request.limit != nil, "\(what)")
                    for index in placed.indices { placed[index].reached = [] }
                }
                #expect(Placed.all(places) == placed, "\(what)")
            } else {
                #expect(found.objects == expected.rows, "\(what)")
            }
        case .count, .columns:
            // A count with a limit ends with the last row that the limit includes.
            if fetch.request.limit == nil, fetch.request.offset == 0 {
                #expect(found.count == UInt64(expected.count), "\(what)")
            }
        }
    }

    // MARK: Sessions

    private func bench(
        _ count: Int, isGrouped: Bool = false, limits: DaemonLimits = DaemonLimits()
    ) throws -> EngineBench {
        let bench = try EngineBench.ofReaders(limits: limits, engineClock: ManualClock())
        try bench.insertNodes(count, isGrouped: isGrouped)
        return bench
    }

    private let nodes = FetchDescriptor(entity: "Node", sort: ["rank"])

    @Test func `law 7: saves are committed while a reader evaluates 20,000 candidates`()
        throws
    {
        let bench = try bench(20_000)
        // No index has this order.
        let request = FetchDescriptor(entity: "Node", sort: ["name"], limit: 100)
        let (answer, asked) = try bench.holding(.fetch(Fetch(request: request)), turns: 24) {
            try insert(bench, 150_000 + UInt64($0))
        }
        let found = try answer.fetched
        #expect(found.position == asked && bench.position.number == asked + 24)
        #expect(found.count == 100 && found.objects.count == 100)
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `law 4: an answer's position is not before that of the pushes to its client`() throws
    {
        let bench = try bench(50)
        let tag = try bench.bench.entity("Node").tag
        let (asker, saver) = (
            try bench.client(Hello(author: "asker", interests: ["Node"])), try bench.client()
        )
        var random = SplitMix64(seed: seed)
        var counts = [bench.position.number: 50]
        var number: UInt64 = 100
        for _ in 0..<20 {
            let asked = try asker.send(.fetch(Fetch(request: nodes, interests: [tag])))
            let told = asker.machine.cursor
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                bench.holdReaders(Bool.random(using: &random))
                try saver.save([try insert(bench, number)])
                counts[bench.position.number] = Int(number) - 49
                number += 1
            }
            bench.holdReaders(false)
            let found = try asker.answer(asked).fetched
            #expect(found.position >= told, "seed \(seed)")
            #expect(found.objects.count == counts[found.position], "seed \(seed)")
        }
        try asker.read()
        // The peer records gaps and repeated transactions.
        for _ in 0..<100 where asker.machine.cursor < bench.position.number {
            try bench.turn()
            try asker.read()
        }
        #expect(asker.machine.cursor == bench.position.number)
    }

    @Test func `law 7: however many reads are sent, one job is run between two batches`() throws {
        let bench = try bench(100)
        let askers = try (0..<8).map { _ in try bench.client() }
        for asker in askers { _ = try asker.send(.fetch(Fetch(request: nodes))) }
        var (turns, answered) = (0, 0)
        while answered < 8, turns < 1_000 {
            try bench.turn()
            for asker in askers { try asker.read() }
            let now = askers.count { !$0.received.isEmpty }
            #expect(now <= answered + 1)
            answered = now
            turns += 1
        }
        #expect(turns >= 8 && answered == 8 && bench.engine.reads.bytes.held == 0)
    }

    @Test func `law 8: a common prefix of many keys counts for each of them`() throws {
        var limits = DaemonLimits()
        limits.readBytes = 600_000
        let bench = try bench(400, isGrouped: true, limits: limits)
        let title = String(repeating: "t", count: 4_000)
        try bench.bench.save([try bench.bench.update("Group", 1, ["title": .string(title)])])
        let client = try bench.client()
        let request = FetchDescriptor(entity: "Node", sort: ["group.title", "rank"])
        let list = ListDetails(sectionKeyPath: "group.title", hops: [["group"]], rowsUpTo: 2)
        let question = try client.send(.fetch(Fetch(request: request, list: list)))
        guard case .failure(let error) = try client.answer(question) else {
            Issue.record("1,600,000 bytes of keys were sent")
            return
        }
        #expect(error.code == .limitExceeded)
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `law 7: a fetch whose data others change faster than it runs still ends`() throws {
        let bench = try bench(200, isGrouped: true)
        let predicate = try ObjectPredicate(format: "group.title != nil")
        let request = FetchDescriptor(entity: "Node", predicate: predicate, sort: ["group.title"])
        let (answer, asked) = try bench.holding(.fetch(Fetch(request: request)), turns: 30) {
            try bench.bench.update("Group", 1, ["title": .string("g\($0)")])
        }
        let found = try answer.fetched
        #expect(found.objects.count == 200 && found.position == asked)
    }

    @Test func `law 8: a queued request counts with its bytes`() throws {
        let bench = try bench(2_000)
        let long = [String](repeating: String(repeating: "x", count: 50), count: 100)
        let predicate = try ObjectPredicate(
            format: "rank >= 0 AND rank < 25 AND NOT name IN %@",
            arguments: [.list(long.map { .value(.string($0)) })])
        let asker = try bench.client()
        let request = FetchDescriptor(entity: "Node", predicate: predicate)
        let id = try asker.send(.fetch(Fetch(request: request, kind: .count)))
        try bench.turnsUntilRead(asker)
        #expect(bench.engine.reads.bytes.held > 5_000)
        let found = try asker.answer(id).fetched
        #expect(found.objects.isEmpty && bench.engine.reads.bytes.held == 0)
    }

    @Test func `law 7: fetches that exceed a limit only together are all answered`() throws {
        var limits = DaemonLimits()
        limits.readBytes = 80_000
        let bench = try bench(300, limits: limits)
        let askers = try (0..<5).map { _ in try bench.client() }
        let ids = try askers.map { try $0.send(.fetch(Fetch(request: nodes))) }
        for (asker, id) in zip(askers, ids) {
            #expect(try asker.answer(id).fetched.objects.count == 300)
        }
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `law 2: a client's request after a fetch is answered after it`() throws {
        let bench = try bench(50)
        let (asker, other) = (try bench.client(), try bench.client())
        let first = try asker.send(.fetch(Fetch(request: nodes)))
        let second = try asker.send(.read(Read()))
        let third = try asker.send(.fetch(Fetch(request: nodes, kind: .count)))
        let elsewhere = try other.send(.read(Read()))
        try bench.turn()
        try other.read()
        #expect(other.received.map(\.id) == [elsewhere])
        for _ in 0..<100 where asker.received.count < 3 {
            try bench.turn()
            try asker.read()
        }
        #expect(asker.received.map(\.id) == [first, second, third])
    }

    @Test func `law 4: verdicts and the fetch sent with them are of one position`() throws {
        let bench = try bench(60)
        let (asker, saver) = (try bench.client(), try bench.client())
        let from = bench.position.number
        for number in UInt64(501)...504 { try saver.save([try insert(bench, number)]) }
        let request = VerdictRequest(
            from: from, items: [VerdictItem(request: nodes)],
            alongside: .fetch(Fetch(request: nodes)))
        let id = try asker.send(.verdicts(request))
        try bench.turnsUntilRead(asker)
        bench.holdReaders(true)
        for number in UInt64(505)...510 { try saver.save([try insert(bench, number)]) }
        bench.holdReaders(false)
        let answer = try asker.answer(id).verdicts
        guard case .fetched(let found) = answer.alongside else {
            Issue.record("no piggybacked fetch")
            return
        }
        #expect(answer.position == from + 4)
        #expect(found.position == answer.position && found.objects.count == 64)
        #expect(answer.items.first?.count == 4)
    }

    @Test func `law 7: a history with few relevant transactions is returned in several answers`()
        throws
    {
        var limits = DaemonLimits()
        limits.sliceReads = 7
        let bench = try bench(1, limits: limits)
        let client = try bench.client()
        for number in UInt64(100)..<150 { try client.save([try insert(bench, number)]) }
        let (end, tag) = (bench.position.number, try bench.bench.entity("Tag").tag)
        var (position, parts) = (UInt64(0), 0)
        while position < end {
            let request = HistoryRequest(from: position, interests: [tag])
            guard case .history(let part) = try client.ask(.history(request)) else { break }
            #expect(part.position == min(end, position + 7))
            #expect(part.isComplete == (part.position == end))
            position = part.position
            parts += 1
        }
        #expect(parts == Int((end + 6) / 7))
    }

    private func insert(_ bench: EngineBench, _ number: UInt64) throws -> SaveOperation {
        try bench.bench.insert("Node", number, ["rank": .int(Int64(number % 7))])
    }
}

extension CommitBench {
    /// Returns the brute-force answer: every object is evaluated, and the matches are sorted.
    fileprivate func naive(_ wanted: FetchDescriptor, limit: Int?) throws -> StoredObjects {
        let request = try CompiledRequest(wanted, in: try model)
        let reader = StoreReader(store)
        let all = try store.fetch(
            try CompiledRequest(FetchDescriptor(entity: request.entity.name), in: try model))
        let found = try all.objects.filter { request.matches($0.object, $0.row, reader) == true }
            .map { (try #require(request.sortKey($0.object, $0.row, reader)), $0) }
            .sorted { one, next in
                one.0 == next.0
                    ? one.1.object < next.1.object : one.0.lexicographicallyPrecedes(next.0)
            }
            .map(\.1)
        return StoredObjects(found.dropFirst(wanted.offset).prefix(limit ?? .max))
    }
}
