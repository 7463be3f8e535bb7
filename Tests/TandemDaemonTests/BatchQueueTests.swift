import TandemIO
import TandemModel
import TandemWire
import Testing

@testable import TandemDaemon

/// Queued batches: their order, changes of the model before they run, and changes to their objects
/// by others.
@Suite(.ownThread) struct BatchQueueTests {
    private func world(
        _ count: UInt64, limits: DaemonLimits = DaemonLimits()
    ) throws -> (bench: EngineBench, client: Peer) {
        let bench = try EngineBench(clock: ManualClock(), limits: limits)
        let client = try bench.client()
        try bench.fill(client, "Node", 1...count) {
            ["rank": .int(Int64($0 % 10)), "name": .string("n")]
        }
        return (bench, client)
    }

    private func peer(_ bench: EngineBench, uid: UInt32) throws -> Peer {
        try bench.client(
            Hello(author: "\(uid)"), as: PeerCredentials(uid: uid, gid: uid, pid: 1))
    }

    private func failure(_ id: UInt32, _ client: Peer) throws -> TandemError.Code? {
        try refusal(id, client)?.code
    }

    private func refusal(_ id: UInt32, _ client: Peer) throws -> TandemError? {
        switch try client.answer(id) {
        case .failure(let error): error
        case .batched(let answer): answer.failure
        default: nil
        }
    }

    /// Checks that each refusal names one limit, and that each limit's counter matches the
    /// refusals.
    private func check(
        _ refusals: [TandemError?], name limits: Set<String>, _ bench: EngineBench
    ) throws {
        var named: [String: Int64] = [:]
        for error in refusals.compactMap(\.self) {
            #expect(error.code == .limitExceeded)
            let names = limits.filter { "\(error)".contains("; limits.\($0) is ") }
            #expect(names.count == 1, "\(error)")
            for name in names { named[name, default: 0] += 1 }
        }
        #expect(!named.isEmpty)
        for limit in limits {
            #expect(bench.engine.status["limits"]?[limit]?["reached"]?.int == named[limit] ?? 0)
        }
    }

    // MARK: Order

    @Test func `law 7: however many batches one user has queued, another user's is next`() throws {
        let (bench, _) = try world(2_000)
        let busy = try (0..<6).map { _ in try peer(bench, uid: 2) }
        var sent: [(Peer, UInt32)] = []
        for index in 0..<48 {
            let client = busy[index % 6]
            let batch = try bench.batch("Node", "rank < 0", id: [2, UInt8(index)])
            sent.append((client, try client.send(.batch(batch))))
        }
        try bench.turn()
        let other = try peer(bench, uid: 3)
        let id = try other.send(.batch(try bench.batch("Node", "rank = 1", id: [3])))
        let answer = try other.answer(id)
        guard case .batched(let batched) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(batched.count == 200)
        for client in busy { try client.read() }
        let answered = busy.reduce(0) { sum, client in
            sum + client.received.count { if case .batched = $0.message { true } else { false } }
        }
        #expect(answered < 4)
        let refusals = try sent.map { try refusal($0.1, $0.0) }
        #expect(refusals.count { $0 == nil } >= DaemonLimits().batchesPerUser)
        try check(refusals, name: ["batchesPerConnection", "batchesPerUser"], bench)
    }

    @Test func `law 7: one connection leaves queue slots to others of its user`() throws {
        let (bench, client) = try world(1_000)
        var ids: [UInt32] = []
        for index in 0..<10 {
            ids.append(
                try client.send(.batch(try bench.batch("Node", "rank < 0", id: [1, UInt8(index)]))))
        }
        let other = try bench.client()
        #expect(try other.run(try bench.batch("Node", "rank = 1", id: [2])).count == 100)
        let refusals = try ids.map { try refusal($0, client) }
        #expect(refusals.count { $0 == nil } >= DaemonLimits().batchesPerConnection)
        try check(refusals, name: ["batchesPerConnection"], bench)
    }

    @Test func `law 8: the memory of queued batches is bounded`() throws {
        var limits = DaemonLimits()
        limits.inboundBytes = 64 << 10
        let (bench, client) = try world(10, limits: limits)
        let other = try bench.client()
        let text = PropertyValue.string(String(repeating: "x", count: 40_000))
        let ids = try (0..<4).map { index in
            let peer = index % 2 == 0 ? client : other
            let batch = try bench.batch(
                "Node", "rank < 0", set: ["name": text], id: [1, UInt8(index)])
            return (peer, try peer.send(.batch(batch)))
        }
        let refusals = try ids.map { try refusal($0.1, $0.0) }
        #expect(refusals.contains { $0 == nil })
        try check(refusals, name: ["inboundBytes"], bench)
    }

    // MARK: Models

    /// The model with an attribute that precedes the others in each row.
    private var grown: ManagedObjectModel {
        var model = graphModel
        model.entities["Node"]?.attributes["a"] = Attribute("a", .int, default: .int(-1))
        return model
    }

    /// The state of a batch when the model changes.
    enum Moment: CaseIterable { case waiting, looking, working }

    @Test(arguments: Moment.allCases)
    func `laws 3 and 7: a batch ends if the model changes, and resumes with the new slots`(
        moment: Moment
    ) throws {
        var limits = DaemonLimits()
        limits.sliceReads = 300
        let (bench, client) = try world(2_000, limits: limits)
        let other = try bench.client()
        var first: UInt32?
        if moment == .waiting {
            first = try other.send(.batch(try bench.batch("Node", "rank < 0", id: [6])))
        }
        let update = try bench.batch("Node", "name = 'n'", set: ["rank": .int(50)])
        let id = try client.send(.batch(update))
        try bench.turn()
        if moment == .working {
            try bench.turn(until: 1)
            // All objects are re-evaluated later, with the layout of the new model.
            for numbers in [UInt64(65)...1_000, 1_001...2_000] {
                let updates = try numbers.map {
                    try bench.bench.update("Node", $0, ["rank": .int(9)])
                }
                _ = try other.send(.save(other.saveRequest(updates)))
            }
        }
        _ = try other.ask(.schema(SchemaRequest(model: grown.json.text)))
        #expect(try failure(id, client) == .schemaMismatch)
        if let first { #expect(try failure(first, other) == .schemaMismatch) }
        let again = try bench.batch("Node", "name = 'n'", set: ["rank": .int(50)])
        let answer = try client.run(again)
        #expect(answer.failure == nil && answer.count == 2_000)
        #expect(try bench.count("Node", client, "rank = 50 AND a = -1") == 2_000)
    }

    // MARK: Unprocessed objects

    @Test
    func `an object changed by others is re-evaluated, even if the batch has changed it since`()
        throws
    {
        let (bench, client) = try world(2_000)
        let other = try bench.client()
        let last = PropertyValue.reference(try bench.bench.reference("Node", 1_992))
        try other.save([try bench.bench.update("Node", 201, ["spouse": last])])
        let id = try client.send(.batch(try bench.batch("Node", "rank < 5")))
        try bench.turn(until: 1)
        #expect(try bench.bench.exists("Node", 201))
        try other.save([try bench.bench.update("Node", 1_992, ["rank": .int(9)])])
        guard case .batched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(try !bench.bench.exists("Node", 201))
        #expect(try bench.bench.exists("Node", 1_992))
        #expect(answer.count == 999)
    }

    @Test func `objects deleted by cascade count as well, if they match`() throws {
        let (bench, client) = try world(1_000)
        let parent = PropertyValue.reference(try bench.bench.reference("Node", 1))
        let other = try bench.client()
        try other.save(
            try (951...1_000).map { try bench.bench.update("Node", $0, ["parent": parent]) })
        #expect(try client.run(try bench.batch("Node", "rank < 5")).count == 500)
        // Objects that do not match were deleted by cascade as well.
        #expect(try bench.count("Node", client) == 475)
    }
}
