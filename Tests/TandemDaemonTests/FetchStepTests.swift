import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// A fetch in steps between which others save is a fetch at the end.
@Suite struct FetchStepTests {
    /// Lists that are found by each kind of access path, beside those of the verdicts.
    private static func requests(_ random: inout SplitMix64) throws -> [FetchRequest] {
        let group = ObjectID(entity: "Group", number: UInt64.random(in: 1...30, using: &random))
        let found = try [
            ObjectPredicate(format: "rank >= 1 AND rank < 3"),
            ObjectPredicate(format: "rank IN {1, 2, 1}"),
            ObjectPredicate(format: "code == 'a' OR code == 'b'"),
            ObjectPredicate(format: "code == 'a'"),
            ObjectPredicate(format: "group == %@", arguments: [.object(group)]),
        ].map { FetchRequest(entity: "Node", predicate: $0, sort: ["name"]) }
        return found + VerdictTests.lists.map(\.request)
    }

    @Test(arguments: [DaemonLimits().verdictTransactions, 1])
    func `law 4: a fetch in steps of one gives what one at its end gives`(
        _ window: Int
    ) throws {
        var limits = DaemonLimits()
        limits.verdictTransactions = window
        for round in UInt64(0)..<3 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 900 &+ round, limits: limits)
            for _ in 0..<30 { try graph.step() }
            for var request in try Self.requests(&random) {
                if Bool.random(using: &random) {
                    request.limit = Int.random(in: 0...6, using: &random)
                    request.offset = Int.random(in: 0...3, using: &random)
                }
                let kind = Fetch.Kind.allCases.randomElement(using: &random) ?? .rows
                let fetch = Fetch(request: request, kind: kind)
                try check(fetch, &graph, &random, "seed \(seed) round \(round): \(request)")
            }
        }
    }

    private func check(
        _ fetch: Fetch, _ graph: inout RandomGraph, _ random: inout SplitMix64, _ what: String
    ) throws {
        let committer = graph.bench.committer
        let read = try ReadUnderWay(.fetch(fetch), fetch, id: 1, in: graph.bench.model, committer)
        let share = Int.random(in: 0...40, using: &random)
        var saves = 0
        var budget = 1
        while !(try read.step(committer, &budget)) {
            if saves < 25, Int.random(in: 0..<100, using: &random) < share {
                try graph.step()
                saves += 1
            }
            budget = Int.random(in: 1...3, using: &random)
        }
        let part: FetchPart =
            switch fetch.kind {
            case .rows: .rows
            case .references: .references
            case .count: .count
            }
        let (found, expected) = (
            try read.cursor.result(), try committer.store.fetch(read.request, for: part)
        )
        #expect(found.objects == expected.objects, "\(what)")
        #expect(found.references == expected.references, "\(what)")
        #expect(found.count == expected.count, "\(what)")
        #expect(read.position == committer.position)
    }

    // MARK: Sessions

    private func bench(
        _ count: Int, sliceReads: Int, inEach operations: Int = 500
    ) throws -> EngineBench {
        var limits = DaemonLimits()
        limits.sliceReads = sliceReads
        limits.leaseNumbers = 1 << 20
        let bench = try EngineBench(limits: limits, engineClock: ManualClock())
        _ = try bench.bench.committer.lease(1 << 20)
        try bench.bench.save([try bench.bench.insert("Group", 1, ["title": .string("g")])])
        let group = try bench.bench.reference("Group", 1)
        for start in stride(from: 2, to: count + 2, by: operations) {
            try bench.bench.save(
                try (start..<min(start + operations, count + 2)).map {
                    let values: [String: Value] = [
                        "rank": .int(Int64($0 % 100)), "group": .reference(group),
                    ]
                    return try bench.bench.insert("Node", UInt64($0), values)
                })
        }
        return bench
    }

    private let nodes = FetchRequest(entity: "Node", sort: ["rank"])

    @Test func `law 7: saves get positions between the steps of a question of 100,000 candidates`()
        throws
    {
        let bench = try bench(
            100_000, sliceReads: DaemonLimits().sliceReads, inEach: 4_000)
        let (asker, saver) = (try bench.client(), try bench.client())
        let question = try asker.send(.fetch(Fetch(request: nodes, kind: .references)))
        var turns = 0
        while asker.received.isEmpty {
            let id = try saver.send(
                .save(saver.saveRequest([try insert(bench, 150_000 + UInt64(turns))])))
            try bench.turn()
            try saver.read()
            #expect(saver.received.last?.id == id)
            try asker.read()
            turns += 1
        }
        #expect(turns >= 100_000 / DaemonLimits().sliceReads)
        guard case .fetched(let found) = try asker.answer(question) else {
            Issue.record("no answer")
            return
        }
        #expect(found.position == bench.position.number)
        #expect(found.count == UInt64(100_000 + turns))
        #expect(found.references.count == 100_000 + turns)
    }

    @Test func `law 7: however many ask, between two batches they get one budget together`() throws
    {
        let bench = try bench(100, sliceReads: 10)
        let askers = try (0..<8).map { _ in try bench.client() }
        for asker in askers { _ = try asker.send(.fetch(Fetch(request: nodes))) }
        var turns = 0
        while askers.contains(where: \.received.isEmpty), turns < 1_000 {
            try bench.turn()
            for asker in askers { try asker.read() }
            turns += 1
        }
        // One for those that begin, and one for those that go on.
        #expect(turns >= 8 * 100 / 20 && turns < 1_000)
        #expect(bench.engine.readBytes == 0)
    }

    @Test func `law 7: a fetch that others alter faster than it goes ends all the same`() throws {
        let bench = try bench(200, sliceReads: 10)
        let (asker, saver) = (try bench.client(), try bench.client())
        let predicate = try ObjectPredicate(format: "group.title != nil")
        let request = FetchRequest(entity: "Node", predicate: predicate, sort: ["group.title"])
        let id = try asker.send(.fetch(Fetch(request: request)))
        var turns = 0
        while asker.received.isEmpty, turns < 1_000 {
            turns += 1
            let title = Value.string("g\(turns)")
            let update = try bench.bench.update("Group", 1, ["title": title])
            _ = try saver.send(.save(saver.saveRequest([update])))
            try bench.turn()
            try saver.read()
            try asker.read()
        }
        #expect(turns < 200)
        guard case .fetched(let found) = try asker.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(found.objects.count == 200)
    }

    @Test func `law 2: what a client asks behind a fetch is answered behind it`() throws {
        let bench = try bench(50, sliceReads: 5)
        let (asker, other) = (try bench.client(), try bench.client())
        let first = try asker.send(.fetch(Fetch(request: nodes)))
        let second = try asker.send(.read(Read()))
        let third = try asker.send(.fetch(Fetch(request: nodes, kind: .count)))
        let elsewhere = try other.send(.read(Read()))
        try bench.turn()
        try other.read()
        #expect(other.received.map(\.id) == [elsewhere])
        while asker.received.count < 3 {
            try bench.turn()
            try asker.read()
        }
        #expect(asker.received.map(\.id) == [first, second, third])
    }

    @Test func `a fetch is forgotten with its connection, and refused under another model`() throws
    {
        let bench = try bench(50, sliceReads: 5)
        let (gone, asker) = (try bench.client(), try bench.client())
        let id = try asker.send(.fetch(Fetch(request: nodes)))
        _ = try gone.send(.fetch(Fetch(request: nodes)))
        for _ in 0..<4 { try bench.turn() }
        #expect(asker.session.read != nil && gone.session.read != nil)
        #expect(bench.engine.readBytes > 0)
        bench.engine.disconnect(gone.session, because: nil)
        #expect(gone.session.read == nil)
        var model = graphModel
        model.entities["Spare"] = Entity("Spare")
        try bench.bench.committer.install(model, by: Principal())
        guard case .failure(let error) = try asker.answer(id) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .schemaMismatch)
        #expect(bench.engine.readBytes == 0)
        #expect(try asker.fetch(Fetch(request: nodes)).objects.count == 50)
    }

    @Test func `law 4: verdicts and the fetch beside them stand at one position`() throws {
        let bench = try bench(60, sliceReads: 5)
        let (asker, saver) = (try bench.client(), try bench.client())
        let from = bench.position.number
        let request = VerdictRequest(
            from: from, items: [VerdictItem(request: nodes)],
            alongside: .fetch(Fetch(request: nodes)))
        let id = try asker.send(.verdicts(request))
        var saves: UInt64 = 0
        while asker.received.isEmpty {
            saves += 1
            let insert = try insert(bench, 500 + saves)
            _ = try saver.send(.save(saver.saveRequest([insert])))
            try bench.turn()
            try asker.read()
        }
        guard case .verdicts(let answer) = try asker.answer(id),
            case .fetched(let found) = answer.alongside
        else {
            Issue.record("no verdicts")
            return
        }
        #expect(saves > 4 && answer.position == from + saves)
        #expect(found.position == answer.position && found.objects.count == 60 + Int(saves))
        #expect(answer.items.first?.count == Int(saves))
    }

    @Test func `law 7: a history of which little interests is given in parts`() throws {
        let bench = try bench(1, sliceReads: 7)
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
