import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// What is read at an earlier position is what was read when the daemon stood there.
@Suite(.ownThread) struct LookBackTests {
    /// What there was at a position.
    private struct Moment {
        let position: UInt64
        var found: [FetchResult] = []
        var members: [MemberRequest: [ObjectReference]] = [:]
        var rows: [ObjectReference: Row] = [:]
    }

    private static func requests() throws -> [FetchRequest] {
        let found = try ["rank >= 1 AND rank < 3", "rank IN {1, 2, 1}", "code == 'a'"].map {
            FetchRequest(
                entity: "Node", predicate: try ObjectPredicate(format: $0), sort: ["name"])
        }
        return found + VerdictTests.lists.map(\.request)
    }

    private func moment(_ bench: CommitBench) throws -> Moment {
        var moment = Moment(position: bench.committer.position)
        let model = try bench.model
        for request in try Self.requests() {
            moment.found.append(try bench.store.fetch(try CompiledRequest(request, in: model)))
        }
        for entity in model.entities where entity.name != "Leaf" {
            let all = try bench.store.fetch(
                try CompiledRequest(FetchRequest(entity: entity.name), in: model))
            for stored in all.objects {
                moment.rows[stored.object] = stored.row
                let own = try #require(model.entity(tagged: stored.object.tag))
                for property in own.properties where property.isToMany {
                    let relationship = try #require(property.relationship)
                    moment.members[MemberRequest(owner: stored.object, slot: property.slot)] =
                        try bench.store.members(of: stored.object.number, relationship)
                }
            }
        }
        return moment
    }

    @Test func `law 6: a fetch at a position gives what one gave when the daemon stood there`()
        throws
    {
        for round in UInt64(0)..<3 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 300 &+ round)
            for _ in 0..<20 { try graph.step() }
            var moments: [Moment] = []
            for _ in 0..<6 {
                moments.append(try moment(graph.bench))
                for _ in 0..<Int.random(in: 1...8, using: &random) { try graph.step() }
            }
            for moment in moments {
                let what = "seed \(seed) round \(round) position \(moment.position)"
                for (request, expected) in zip(try Self.requests(), moment.found) {
                    let fetch = Fetch(request: request, at: moment.position)
                    try check(fetch, expected, &graph, &random, "\(what): \(request)")
                }
                try check(moment, &graph, &random, what)
            }
        }
    }

    /// Carries a read out in small steps, between which others save.
    private func run(
        _ read: ReadUnderWay, _ graph: inout RandomGraph, _ random: inout SplitMix64
    ) throws {
        var (budget, saves) = (1, 0)
        while !(try read.step(graph.bench.committer, &budget)) {
            if saves < 2, Int.random(in: 0..<100, using: &random) == 0 {
                try graph.step()
                saves += 1
            }
            budget = Int.random(in: 1...5, using: &random)
        }
    }

    private func check(
        _ fetch: Fetch, _ expected: FetchResult, _ graph: inout RandomGraph,
        _ random: inout SplitMix64, _ what: String
    ) throws {
        var fetch = fetch
        if Int.random(in: 0..<3, using: &random) == 0 {
            fetch.request.limit = Int.random(in: 0...5, using: &random)
        }
        let read = try ReadUnderWay(
            .fetch(fetch), fetch, at: fetch.at, id: 1, in: graph.bench.model, graph.bench.committer)
        try run(read, &graph, &random)
        let found = try #require(try read.cursor?.result())
        let wanted = Array(expected.objects.prefix(fetch.request.limit ?? .max))
        #expect(found.objects.map(\.object) == wanted.map(\.object), "\(what)")
        #expect(found.objects.map(\.row) == wanted.map(\.row), "\(what)")
        #expect(found.count == min(expected.count, fetch.request.limit ?? .max), "\(what)")
        // What is undone has the position as its version, which a later change is above.
        let versions = zip(wanted, found.objects).allSatisfy {
            $0.version <= $1.version && $1.version <= fetch.at
        }
        #expect(versions, "\(what)")
    }

    private func check(
        _ moment: Moment, _ graph: inout RandomGraph, _ random: inout SplitMix64, _ what: String
    ) throws {
        let committer = graph.bench.committer
        let request = Read(
            objects: moment.rows.keys.sorted(), members: Array(moment.members.keys),
            modelVersion: try graph.bench.model.version, at: moment.position)
        let read = try ReadUnderWay(
            .read(request), nil, at: moment.position, id: 1, in: graph.bench.model, committer)
        try run(read, &graph, &random)
        let past = try #require(read.past)
        for (object, row) in moment.rows {
            #expect(try past.stored(object, in: committer.store)?.row == row, "\(what) \(object)")
        }
        for (request, members) in moment.members {
            let entity = try #require(try graph.bench.model.entity(tagged: request.owner.tag))
            let relationship = try #require(entity.properties[request.slot].relationship)
            let now = try committer.store.members(of: request.owner.number, relationship)
            let then = past.members(now, of: request.owner, slot: request.slot)
            #expect(then == members, "\(what) \(request)")
        }
    }

    // MARK: Sessions

    private let nodes = FetchRequest(entity: "Node", sort: ["rank"])

    private func bench(_ limits: DaemonLimits = DaemonLimits()) throws -> EngineBench {
        let bench = try EngineBench(limits: limits)
        let client = try bench.client()
        for number in UInt64(1)...20 {
            try client.save([try bench.bench.insert("Node", number, ["rank": .int(1)])])
        }
        for number in UInt64(1)...20 {
            try client.save([try bench.bench.update("Node", number, ["rank": .int(2)])])
        }
        return bench
    }

    @Test func `a fetch, a count and a read at a position are answered there`() throws {
        let bench = try bench()
        let client = try bench.client()
        let at = bench.position.number - 20
        let found = try client.fetch(Fetch(request: nodes, at: at))
        let entity = try bench.bench.entity("Node")
        let slot = try #require(entity.slot(of: "rank"))
        #expect(found.position == at && found.objects.count == 20)
        #expect(found.objects.allSatisfy { $0.row.uncheckedValue(slot, in: entity) == .int(1) })
        let few = try client.fetch(Fetch(request: nodes, kind: .count, at: at - 5))
        #expect(few.position == at - 5 && few.count == 15)
        let object = try bench.bench.reference("Node", 20)
        for (position, isThere) in [(at, true), (at - 1, false)] {
            guard
                case .objects(let answer) = try client.ask(
                    .read(Read(objects: [object], at: position)))
            else {
                Issue.record("no objects")
                continue
            }
            #expect(answer.position == position)
            #expect(answer.objects.count == (isThere ? 1 : 0))
            #expect(answer.missing == (isThere ? [] : [object]))
        }
        // Nothing of it moved what the session was told.
        #expect(try client.fetch(Fetch(request: nodes)).position == bench.position.number)
        #expect(bench.engine.readBytes == 0)
    }

    @Test func `what can't be looked back at says why, and what can`() throws {
        var limits = DaemonLimits()
        limits.lookBackTransactions = 30
        let bench = try bench(limits)
        let client = try bench.client()
        let end = bench.position.number
        func error(_ at: UInt64) throws -> TandemError? {
            guard
                case .failure(let error) = try client.ask(.fetch(Fetch(request: nodes, at: at)))
            else { return nil }
            return error
        }
        #expect(try error(end) == nil)
        #expect(try error(end - 30) == nil)
        #expect(try error(end - 31)?.code == .limitExceeded)
        #expect(try error(end + 1)?.code == .historyExpired)
        var model = graphModel
        model.entities["Spare"] = Entity("Spare")
        try bench.bench.committer.install(model, by: Principal())
        let expired = try error(end)
        #expect(expired?.code == .historyExpired)
        #expect(expired?.message.contains("the oldest that can be read at is \(end + 1)") == true)
    }

    @Test func `law 7: what a look back has missed since it had caught up is undone in steps`()
        throws
    {
        var limits = DaemonLimits()
        limits.batchSaves = 8
        limits.lookBackTransactions = 100
        let bench = try bench(limits)
        let client = try bench.client()
        let committer = bench.bench.committer
        let at = bench.position.number - 10
        let fetch = Fetch(request: nodes, at: at)
        let read = try ReadUnderWay(
            .fetch(fetch), fetch, at: at, id: 1, in: bench.bench.model, committer)
        func save(_ count: Int) throws {
            for rank in 0..<count {
                let values = ["rank": Value.int(Int64(rank % 50))]
                try client.save([try bench.bench.update("Node", 1, values)])
            }
        }
        var budget = 12
        #expect(try read.step(committer, &budget) == false)
        #expect(read.position == committer.position)
        // What a turn brings is undone at once, and what came while nobody took a step by and by.
        try save(8)
        budget = 5
        #expect(try read.step(committer, &budget) == false)
        #expect(read.position == committer.position)
        try save(60)
        let before = read.position
        budget = 5
        #expect(try read.step(committer, &budget) == false)
        #expect(read.position == before + 5 && budget <= 0)
        var isDone = false
        for _ in 0..<100 where !isDone {
            budget = 5
            isDone = try read.step(committer, &budget)
        }
        #expect(isDone && read.position == committer.position)
        #expect(try read.cursor?.result().count == 20)
        // With more than that it is refused where it would have been at first.
        try save(40)
        let error = #expect(throws: TandemError.self) { try read.step(committer, &budget) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `law 7: a look back ends, however many are saved between two of its steps`() throws {
        var limits = DaemonLimits()
        limits.batchSaves = 2
        let bench = try bench(limits)
        let client = try bench.client()
        let committer = bench.bench.committer
        let fetch = Fetch(request: nodes, at: bench.position.number - 10)
        let read = try ReadUnderWay(
            .fetch(fetch), fetch, at: fetch.at, id: 1, in: bench.bench.model, committer)
        var (steps, isDone) = (0, false)
        while !isDone, steps < 200 {
            var budget = steps == 0 ? 11 : 2
            isDone = try read.step(committer, &budget)
            steps += 1
            for rank in Int64(0)..<4 {
                try client.save([try bench.bench.update("Node", 1, ["rank": .int(rank)])])
            }
        }
        #expect(isDone && steps < 200)
    }

    @Test func `a look back needs what it undoes until it is done`() throws {
        var limits = DaemonLimits()
        limits.sliceReads = 1
        let bench = try bench(limits)
        let client = try bench.client()
        let at = bench.position.number - 30
        let id = try client.send(.fetch(Fetch(request: nodes, at: at)))
        for _ in 0..<5 { try bench.turn() }
        #expect(client.session.needed > at && client.session.needed < at + 10)
        #expect(bench.engine.readBytes > 0)
        guard case .fetched(let found) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(found.position == at && found.count == 10)
        #expect(client.session.needed == bench.position.number)
    }
}
