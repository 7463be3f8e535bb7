import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Batches alongside the saves of other clients, and interrupted batches.
@Suite(.ownThread) struct BatchFairnessTests {
    private func world(
        _ count: UInt64, limits: DaemonLimits = DaemonLimits(), roles: RolePolicy = RolePolicy()
    ) throws -> (bench: EngineBench, client: Peer) {
        let bench = try EngineBench(clock: ManualClock(), limits: limits, roles: roles)
        let client = try bench.client()
        try bench.fill(client, "Node", 1...count) { ["rank": .int(Int64($0 % 10))] }
        return (bench, client)
    }

    @Test func `law 7: saves of others are committed between the transactions of a batch`() throws {
        let (bench, client) = try world(4_000)
        let other = try bench.client()
        let start = bench.position.number
        var batch = try bench.batch("Node")
        batch.request.predicate = try ObjectPredicate(format: "name != 'x'")
        let id = try client.send(.batch(batch))
        var saved: [UInt64] = []
        var answer: BatchAnswer?
        // No client waits during the search for the batch's objects, however long it takes.
        bench.holdReaders(true)
        while answer == nil {
            if saved.count == 8 { bench.holdReaders(false) }
            let insert = try bench.bench.insert("Tag", 4_001 + UInt64(saved.count))
            let save = try other.send(.save(other.saveRequest([insert])))
            // Each save is answered in the turn in which it arrived, however much of the batch
            // remains.
            try bench.turn()
            try other.read()
            guard case .saved(let done) = other.received.last?.message,
                other.received.last?.id == save
            else {
                Issue.record("the save had to wait")
                return
            }
            saved.append(done.position)
            answer = try client.batched(id)
        }
        #expect(answer?.count == 4_000)
        let parts = try bench.transactions(of: [7]).map(\.transaction.position)
        #expect(parts.count >= 4)
        #expect(saved.count { $0 > start && $0 < parts.first ?? 0 } >= 8)
        for (one, next) in zip(parts, parts.dropFirst()) {
            #expect(saved.contains { one < $0 && $0 < next }, "\(one) to \(next)")
        }
    }

    @Test func `an object that others changed or deleted meanwhile is evaluated again`() throws {
        let (bench, client) = try world(2_000)
        let other = try bench.client()
        let id = try client.send(.batch(try bench.batch("Node", "rank < 5")))
        while try bench.transactions(of: [7]).isEmpty { try bench.turn() }
        // Among the objects not processed yet: one no longer matches, one is deleted, one is
        // changed, and one begins to match.
        try other.save([
            try bench.bench.update("Node", 1_990, ["rank": .int(9)]),
            try bench.bench.delete("Node", 1_991),
            try bench.bench.update("Node", 1_992, ["name": .string("x")]),
            try bench.bench.update("Node", 1_995, ["rank": .int(0)]),
        ])
        guard case .batched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.failure == nil && answer.count == 998)
        #expect(try bench.bench.exists("Node", 1_990))
        #expect(try !bench.bench.exists("Node", 1_991))
        #expect(try !bench.bench.exists("Node", 1_992))
        // The object did not match when the batch began.
        #expect(try bench.bench.exists("Node", 1_995))
    }

    @Test func `an object whose count others changed meanwhile is evaluated again`() throws {
        let bench = try EngineBench(model: derivedModel, clock: ManualClock())
        let client = try bench.client()
        let other = try bench.client()
        try bench.fill(client, "Node", 1...2_000)
        let id = try client.send(.batch(try bench.batch("Node", "childCount == 0")))
        while try bench.transactions(of: [7]).isEmpty { try bench.turn() }
        let parent = PropertyValue.reference(try bench.bench.reference("Node", 1_990))
        try other.save([try bench.bench.insert("Node", 5_000, ["parent": parent])])
        guard case .batched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.failure == nil && answer.count == 1_999)
        // The delete would have cascaded to the new child.
        #expect(try bench.bench.exists("Node", 1_990) && bench.bench.exists("Node", 5_000))
    }

    @Test func `objects whose count the batch itself changed stay in the batch`() throws {
        let bench = try EngineBench(model: derivedModel, clock: ManualClock())
        let client = try bench.client()
        try bench.fill(client, "Node", 1...2_500)
        let bob = ["friends": [try bench.bench.reference("Node", 1)]]
        for start in stride(from: UInt64(2), to: 2_500, by: 500) {
            try client.save(
                try (start..<min(start + 500, 2_500)).map {
                    try bench.bench.update("Node", $0, added: bob)
                })
        }
        // Bob is deleted first, and no other node has a friend then.
        #expect(try client.run(try bench.batch("Node", "friendCount > 0")).count == 2_499)
        #expect(try bench.bench.exists("Node", 2_500) && bench.count("Node", client) == 1)
    }

    @Test func `law 7: each transaction re-evaluates at most as many objects as a slice may read`()
        throws
    {
        var limits = DaemonLimits()
        limits.sliceReads = 50
        let (bench, client) = try world(1_000, limits: limits)
        try bench.fill(client, "Group", 2_000...2_000)
        let group = PropertyValue.reference(try bench.bench.reference("Group", 2_000))
        try client.save(
            try (1...1_000).map { try bench.bench.update("Node", $0, ["group": group]) })
        let other = try bench.client()
        let batch = try bench.batch("Node", "group.title = nil", set: ["name": .string("x")])
        let id = try client.send(.batch(batch))
        try bench.turn(until: 1)
        try other.save(
            try (500...1_000).map { try bench.bench.update("Node", $0, ["rank": .int(11)]) })
        guard case .batched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.failure == nil && answer.count == 1_000)
        let judged = try bench.transactions(of: [7]).map { part in
            part.transaction.changes.count { $0.object.number >= 500 }
        }
        #expect(judged.reduce(0, +) == 501 && judged.allSatisfy { $0 <= 50 }, "\(judged)")
    }

    // MARK: Expensive predicates

    /// Ten searches in texts, one of which finds something in each text.
    private static let searches = (1...10).map { "name CONTAINS[cd] '\($0 == 5 ? "t" : "q")'" }
        .joined(separator: " OR ")

    /// Limits under which these searches in a single text take too long for the daemon's thread.
    private static let shortSlices: DaemonLimits = {
        var limits = DaemonLimits()
        limits.sliceReads = 100
        return limits
    }()

    /// The number of jobs that readers have carried out.
    private func searches(_ bench: EngineBench) -> Int {
        (bench.engine.reads.readers as? ReadsInTurns)?.carriedOut ?? 0
    }

    private func worldOfTexts(_ count: UInt64) throws -> (bench: EngineBench, client: Peer) {
        let (bench, client) = try world(1, limits: Self.shortSlices)
        let text = PropertyValue.string(String(repeating: "text ", count: 10))
        try bench.fill(client, "Node", 2...count) { _ in ["name": text] }
        return (bench, client)
    }

    @Test func `law 7: objects that others changed are evaluated by a reader if that takes long`()
        throws
    {
        let (bench, client) = try worldOfTexts(500)
        let other = try bench.client()
        let id = try client.send(
            .batch(try bench.batch("Node", Self.searches, set: ["rank": .int(50)])))
        try bench.turn(until: 1)
        #expect(searches(bench) == 1)
        try other.save(
            try (300...497).map { try bench.bench.update("Node", $0, ["rank": .int(11)]) } + [
                try bench.bench.update("Node", 498, ["name": .string("no")]),
                try bench.bench.delete("Node", 499),
            ])
        guard case .batched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.failure == nil && answer.count == 497)
        #expect(try bench.bench.value("Node", 498, "rank") == .int(1))
        // A reader evaluates the objects of several transactions together.
        #expect((2...5).contains(searches(bench)), "\(searches(bench))")
    }

    @Test
    func `law 7: objects that a cascade deletes are evaluated by a reader if that takes long`()
        throws
    {
        let (bench, client) = try worldOfTexts(400)
        let parent = PropertyValue.reference(try bench.bench.reference("Node", 300))
        try client.save(
            try (301...400).map { try bench.bench.update("Node", $0, ["parent": parent]) })
        let other = try bench.client()
        let id = try client.send(.batch(try bench.batch("Node", Self.searches)))
        try bench.turn(until: 1)
        try other.save(
            try (301...349).map { try bench.bench.update("Node", $0, ["rank": .int(11)]) }
                + (350...400).map {
                    try bench.bench.update("Node", $0, ["name": .string("no")])
                })
        guard case .batched(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        // Objects that no longer match are deleted with their parent, but not counted.
        #expect(answer.failure == nil && answer.count == 348)
        #expect(try bench.count("Node", client) == 1 && searches(bench) > 1)
    }

    @Test func `law 8: a batch ends if others change its objects faster than they are evaluated`()
        throws
    {
        let (bench, client) = try worldOfTexts(500)
        let other = try bench.client()
        let id = try client.send(.batch(try bench.batch("Node", Self.searches)))
        try bench.turn(until: 1)
        let done = try #require(try bench.transactions(of: [7]).last?.done)
        var (answer, rank): (BatchAnswer?, Int64) = (nil, 0)
        while answer == nil, rank < 1_000 {
            rank += 1
            try other.save(
                try (400...500).map {
                    try bench.bench.update("Node", $0, ["rank": .int(rank % 100)])
                })
            answer = try client.batched(id)
        }
        #expect(answer?.failure?.code == .timeout && answer?.count ?? 0 >= done)
        #expect(searches(bench) <= 2 + DaemonLimits.batchEvaluations)
        // A retry under the same id continues the batch.
        #expect(try client.run(try bench.batch("Node", Self.searches)).count == 499)
    }

    @Test func `an expensive predicate over derived values is evaluated once for each object`()
        throws
    {
        let bench = try EngineBench(
            model: derivedModel, clock: ManualClock(), limits: Self.shortSlices)
        let client = try bench.client()
        let text = PropertyValue.string(String(repeating: "text ", count: 10))
        try bench.fill(client, "Node", 1...300) { _ in ["name": text] }
        let format = "childCount == 0 AND (\(Self.searches))"
        #expect(try client.run(try bench.batch("Node", format, set: [:])).count == 300)
        #expect(searches(bench) == 1)
        // Another client saves in each turn. Only its first save concerns the batch: it changes the
        // derived value of the last object.
        let other = try bench.client()
        let id = try client.send(.batch(try bench.batch("Node", format, id: [8])))
        let parent = PropertyValue.reference(try bench.bench.reference("Node", 300))
        try bench.turn(until: 1, of: [8])
        try other.save([try bench.bench.insert("Node", 999, ["parent": parent])])
        var (answer, tag): (BatchAnswer?, UInt64) = (nil, 1_000)
        while answer == nil, tag < 2_000 {
            tag += 1
            try other.save([try bench.bench.insert("Tag", tag)])
            answer = try client.batched(id)
        }
        #expect(answer?.failure == nil && answer?.count == 299)
        #expect(try bench.count("Node", client) == 2)
    }

    /// A clock that makes each transaction of a batch seem to exceed its target duration.
    private final class SlowClock: Clock {
        private let clock = ManualClock()
        var wallMicroseconds: Int64 { clock.wallMicroseconds }
        var monotonicNanoseconds: UInt64 {
            clock.advance(byNanoseconds: 2 * DaemonLimits.batchNanoseconds)
            return clock.monotonicNanoseconds
        }
    }

    @Test func `slow transactions never shrink to a single object each`() throws {
        let bench = try EngineBench(engineClock: SlowClock())
        let client = try bench.client()
        try bench.fill(client, "Node", 1...1_000)
        #expect(try client.run(try bench.batch("Node")).count == 1_000)
        let sizes = try bench.transactions(of: [7]).map(\.transaction.changes.count)
        #expect(sizes.count == 1_000 / DaemonLimits.firstBatchObjects + 1, "\(sizes)")
    }

    @Test func `a batch that violates a rule ends there, and reports its progress`() throws {
        let (bench, client) = try world(1_000)
        try bench.fill(client, "Group", 2_000...2_999)
        let group = try bench.bench.reference("Group", 2_900)
        try client.save([try bench.bench.update("Node", 3, ["group": .reference(group)])])
        let answer = try client.run(try bench.batch("Group"))
        #expect(answer.failure?.code == .deleteDenied)
        #expect(answer.count > 0 && answer.count < 901)
        #expect(answer.position == bench.position.number)
        #expect(try bench.count("Group", client) == 1_000 - Int(answer.count))
        #expect(try bench.bench.exists("Group", 2_900))
        // A batch that fails before its first object is processed is answered with `failure`.
        let error = #expect(throws: TandemError.self) {
            try client.run(try bench.batch("Node", set: ["rank": .int(1_000)], id: [8]))
        }
        #expect(error?.code == .validation)
    }

    @Test func `a batch whose client disconnects stops after the running transaction`() throws {
        let (bench, other) = try world(2_000)
        let client = try bench.client()
        _ = try client.send(.batch(try bench.batch("Node")))
        while try bench.transactions(of: [7]).isEmpty { try bench.turn() }
        let end = bench.position.number
        bench.engine.disconnect(client.session, because: nil)
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.position.number == end)
        #expect(!bench.engine.hasWork)
        #expect(try bench.count("Node", other) > 0)
    }

    @Test
    func
        `law 3: a batch resumes under its id after a crash, and a finished one repeats its answer`()
        throws
    {
        let (bench, first) = try world(2_000)
        _ = try first.send(.batch(try bench.batch("Node", "rank < 5")))
        while try bench.transactions(of: [7]).count < 2 { try bench.turn() }
        let done = try #require(try bench.transactions(of: [7]).last?.done)
        try bench.crash()
        let client = try bench.client()
        let answer = try client.run(try bench.batch("Node", "rank < 5"))
        #expect(answer.count == 1_000 && done < 1_000)
        let parts = try bench.transactions(of: [7])
        #expect(parts.map(\.done) == parts.map(\.done).sorted())
        #expect(parts.last?.done == 1_000)
        // Objects that match later are not part of this batch.
        try client.save([try bench.bench.insert("Node", 3_000, ["rank": .int(0)])])
        try bench.crash()
        let again = try bench.client()
        #expect(try again.run(try bench.batch("Node", "rank < 5")) == answer)
        #expect(try bench.bench.exists("Node", 3_000))
        // A different batch under the same id is refused.
        let error = #expect(throws: TandemError.self) {
            try again.run(try bench.batch("Node", "rank < 6"))
        }
        #expect(error?.code == .usage)
    }

    @Test func `law 3: a resumed update skips the objects that it had updated`() throws {
        let (bench, first) = try world(1_000)
        let update = try bench.batch("Node", "rank < 5", set: ["rank": .int(3)])
        _ = try first.send(.batch(update))
        while try bench.transactions(of: [7]).count < 2 { try bench.turn() }
        try bench.crash()
        let client = try bench.client()
        let answer = try client.run(update)
        // One in five of these had the value already; they count as well.
        #expect(answer.count == 500)
        let changes = try bench.transactions(of: [7]).flatMap(\.transaction.changes)
        #expect(Set(changes.map(\.object)).count == changes.count)
        #expect(try bench.count("Node", client, "rank = 3") == 500)
    }

    @Test func `law 8: a batch of more objects than allowed is refused as a whole`() throws {
        var limits = DaemonLimits()
        limits.batchObjects = 99
        let (bench, client) = try world(100, limits: limits)
        let error = #expect(throws: TandemError.self) { try client.run(try bench.batch("Node")) }
        #expect(error?.code == .limitExceeded)
        #expect(try bench.count("Node", client) == 100)
        #expect(try client.run(try bench.batch("Node", limit: 99)).count == 99)
    }

    @Test func `a batch requires the role of a writer`() throws {
        var roles = RolePolicy()
        roles.others = .reader
        let (bench, _) = try world(1, roles: roles)
        let reader = try bench.client(
            Hello(author: "r"), as: PeerCredentials(uid: 4_711, gid: 4_711, pid: 1))
        let error = #expect(throws: TandemError.self) { try reader.run(try bench.batch("Node")) }
        #expect(error?.code == .denied)
        #expect(try bench.bench.exists("Node", 1))
    }

    @Test func `laws 1 and 3: a batch that runs out of disk space keeps its earlier transactions`()
        throws
    {
        let (bench, client) = try world(3_000)
        bench.bench.disk.capacityBytes = 512 << 10
        let text = PropertyValue.string(String(repeating: "x", count: 300))
        let answer = try client.run(try bench.batch("Node", set: ["name": text]))
        #expect(answer.failure?.code == .readOnly)
        #expect(answer.count > 0 && answer.count < 3_000)
        #expect(answer.position == bench.position.number)
        #expect(try bench.transactions(of: [7]).last?.done == answer.count)
        #expect(try bench.count("Node", client, "name != nil") == Int(answer.count))
    }
}
