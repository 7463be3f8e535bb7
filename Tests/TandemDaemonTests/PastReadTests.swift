import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Reads of the past, compared with the results of the same reads at that time.
@Suite(.ownThread) struct PastReadTests {
    /// The results at a position.
    private struct Moment {
        let position: UInt64
        var found: [FetchResult] = []
        var members: [MemberRequest: [ObjectReference]] = [:]
        var rows: [ObjectReference: Row] = [:]
    }

    private static func requests() throws -> [FetchDescriptor] {
        let found = try ["rank >= 1 AND rank < 3", "rank IN {1, 2, 1}", "code == 'a'"].map {
            FetchDescriptor(
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
                try CompiledRequest(FetchDescriptor(entity: entity.name), in: model))
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

    @Test func `law 6: a fetch at a position returns what it returned at that time`()
        throws
    {
        for round in UInt64(0)..<Volume.of(1, deep: 3) {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 300 &+ round)
            for _ in 0..<20 { try graph.step() }
            var moments: [Moment] = []
            for _ in 0..<Volume.of(3, deep: 6) {
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

    private func check(
        _ fetch: Fetch, _ expected: FetchResult, _ graph: inout RandomGraph,
        _ random: inout SplitMix64, _ what: String
    ) throws {
        var fetch = fetch
        if Int.random(in: 0..<3, using: &random) == 0 {
            fetch.request.limit = Int.random(in: 0...5, using: &random)
        }
        let message = ClientMessage.fetch(fetch)
        let (answer, again) = try graph.inSnapshot(message, &random) {
            try $0.answer(message).fetched
        }
        let found = try answer.fetched
        #expect(found == again, "\(what)")
        let wanted = Array(expected.objects.prefix(fetch.request.limit ?? .max))
        #expect(found.objects.map(\.object) == wanted.map(\.object), "\(what)")
        #expect(found.objects.map(\.row) == wanted.map(\.row), "\(what)")
        #expect(found.count == UInt64(min(expected.count, fetch.request.limit ?? .max)), "\(what)")
        // An undone object has the position as its version; later changes have higher ones.
        let versions = zip(wanted, found.objects).allSatisfy {
            $0.version <= $1.version && $1.version <= fetch.at
        }
        #expect(versions, "\(what)")
    }

    private func check(
        _ moment: Moment, _ graph: inout RandomGraph, _ random: inout SplitMix64, _ what: String
    ) throws {
        let request = Read(
            objects: moment.rows.keys.sorted(), members: Array(moment.members.keys),
            modelVersion: try graph.bench.model.version, at: moment.position)
        let message = ClientMessage.read(request)
        let (answer, again) = try graph.inSnapshot(message, &random) {
            try $0.answer(message).objects
        }
        let found = try answer.objects
        #expect(found == again && found.position == moment.position && found.missing.isEmpty)
        let rows = Dictionary(uniqueKeysWithValues: found.objects.map { ($0.object, $0.row) })
        #expect(rows == moment.rows, "\(what)")
        #expect(found.members.count == moment.members.count)
        for list in found.members {
            let expected = moment.members[MemberRequest(owner: list.owner, slot: list.slot)]
            #expect(list.members == expected, "\(what) \(list.owner)")
        }
    }

    // MARK: Sessions

    private let nodes = FetchDescriptor(entity: "Node", sort: ["rank"])

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

    @Test func `a fetch, a count and a read at a position are answered at that position`() throws {
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
        // Reads of the past did not move the session's position.
        #expect(try client.fetch(Fetch(request: nodes)).position == bench.position.number)
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `a refused read of the past states the reason and the oldest position`() throws {
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
        #expect(expired?.message.contains("the oldest readable position is \(end + 1)") == true)
    }

    @Test func `law 7: a read of the past reads its transactions in slices, between batches`()
        throws
    {
        var limits = DaemonLimits()
        limits.sliceReads = 5
        let bench = try bench(limits)
        bench.engine.reads.smallReadWork = 0
        let (client, saver) = (try bench.client(), try bench.client())
        let at = bench.position.number - 30
        let id = try client.send(.fetch(Fetch(request: nodes, at: at)))
        var windows: [UInt64] = []
        while client.session.read?.job == nil, windows.count < 100 {
            let number = 100 + UInt64(windows.count)
            let save = try saver.send(
                .save(saver.saveRequest([try bench.bench.insert("Node", number)])))
            try bench.turn()
            try saver.read()
            #expect(saver.received.last?.id == save)
            windows.append(client.session.read?.window?.position ?? 0)
        }
        let steps = zip(windows, windows.dropFirst()).map { $1 - $0 }
        #expect(steps.allSatisfy { $0 <= 5 } && windows.count >= 6 && windows.count < 100)
        let found = try client.answer(id).fetched
        #expect(found.position == at && found.count == 10)
        #expect(bench.engine.reads.bytes.held == 0)
    }

    @Test func `a read of the past retains the journal it needs until it is done`() throws {
        var limits = DaemonLimits()
        limits.sliceReads = 1
        let bench = try bench(limits)
        bench.engine.reads.smallReadWork = 0
        let client = try bench.client()
        let at = bench.position.number - 30
        let id = try client.send(.fetch(Fetch(request: nodes, at: at)))
        for _ in 0..<5 { try bench.turn() }
        #expect(client.session.needed > at && client.session.needed < at + 10)
        #expect(bench.engine.reads.bytes.held > 0)
        guard case .fetched(let found) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(found.position == at && found.count == 10)
        #expect(client.session.needed == bench.position.number)
    }
}
