import TandemIO
import TandemJournal
import TandemModel
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon
@testable import TandemStore

/// Named consumers of the journal, from the wire to the stored state.
@Suite(.ownThread) struct ConsumerTests {
    private static let text = PropertyValue.string(String(repeating: "x", count: 30_000))
    private static let owner = PeerCredentials(uid: 5_001, gid: 5_001, pid: 11)
    private static let other = PeerCredentials(uid: 5_002, gid: 5_002, pid: 12)
    private static let reader = PeerCredentials(uid: 5_003, gid: 5_003, pid: 13)
    private static let admin = PeerCredentials(uid: 5_004, gid: 5_004, pid: 14)

    private static let policy: RolePolicy = {
        var policy = RolePolicy()
        policy.users = [.reader: [5_003], .admin: [5_004]]
        return policy
    }()

    private func ask(
        _ peer: Peer, _ name: String, _ action: ConsumerRequest.Action
    ) throws -> UInt64? {
        switch try peer.ask(.consumer(ConsumerRequest(name: name, action: action))) {
        case .consumer(let answer): return answer.acknowledged
        case .failure(let error): throw error
        default: throw TandemError(.usage, "an unexpected answer about a consumer")
        }
    }

    private func code(_ body: () throws -> Void) -> TandemError.Code? {
        #expect(throws: TandemError.self, performing: body)?.code
    }

    private func position(_ bench: EngineBench, _ number: UInt64) -> Position {
        Position(log: bench.position.log, epoch: bench.position.epoch, number: number)
    }

    /// Saves nodes of 30 kB, four of which fill a segment.
    private func fill(_ bench: EngineBench, _ numbers: ClosedRange<UInt64>) throws {
        for number in numbers {
            try bench.bench.save([try bench.bench.insert("Node", number, ["name": Self.text])])
        }
    }

    private func first(_ bench: EngineBench) -> UInt64 {
        bench.bench.committer.journal.bounds.first
    }

    @Test func `unreadable consumers are a failure in the status, not an empty list`() throws {
        let bench = try EngineBench()
        _ = try bench.bench.committer.register("mirror", at: 0)
        #expect(bench.engine.status["consumersFailure"] == .null)
        let store = bench.bench.store
        try store.current.put(store.tables.consumers, Array("mirror".utf8), [1])
        let status = bench.engine.status
        #expect(status["consumers"] == .array([]))
        let failure = try #require(status["consumersFailure"]?.string)
        #expect(failure.contains("mirror"), "\(failure)")
    }

    @Test func `laws 1 and 2: an acknowledgement that a crash reverts has removed no segments`()
        throws
    {
        let clock = ManualClock(monotonicNanoseconds: 1, wallMicroseconds: 1_800_000_000_000_000)
        let bench = try EngineBench(clock: clock)
        _ = try bench.bench.committer.register("mirror", at: 1)
        try fill(bench, 1...40)
        try bench.bench.committer.checkpoint()
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepSeconds: 60))
        try bench.bench.committer.acknowledge("mirror", 30)
        clock.advance(byNanoseconds: 3_600_000_000_000)
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) <= 2)
        try bench.crash()
        let kept = try #require(try bench.bench.committer.consumer(named: "mirror"))
        #expect(
            kept.acknowledged >= first(bench) - 1,
            "the consumer lost transactions that it had not acknowledged")
        // A durable acknowledgement releases the segments.
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepSeconds: 60))
        try bench.bench.committer.acknowledge("mirror", 30)
        try bench.bench.committer.checkpoint()
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect((27...31).contains(first(bench)))
    }

    @Test
    func `an acknowledgement becomes durable without further calls, and the daemon sleeps again`()
        throws
    {
        let clock = ManualClock(monotonicNanoseconds: 1)
        let bench = try EngineBench(clock: clock)
        let committer = bench.bench.committer
        _ = try committer.register("mirror", at: 0)
        try fill(bench, 1...2)
        try committer.checkpoint()
        #expect(try committer.checkpointIfDue() == nil)
        try committer.acknowledge("mirror", 2)
        let wait = try #require(try committer.checkpointIfDue())
        let before = committer.counters.checkpoints.count
        clock.advance(byNanoseconds: UInt64(wait) * 1_000_000)
        #expect(try committer.checkpointIfDue() == nil)
        #expect(committer.counters.checkpoints.count == before + 1)
        #expect(try committer.checkpointIfDue() == nil)
        try bench.crash()
        #expect(try bench.bench.store.consumers().map(\.acknowledged) == [2])
    }

    @Test
    func `laws 1 and 8: without disk space consumers are neither registered nor removed`()
        throws
    {
        let clock = ManualClock()
        let bench = try EngineBench(clock: clock)
        let client = try bench.client()
        #expect(try ask(client, "old", .register(at: nil)) == bench.position.number)
        bench.engine.committer.enterReadOnly(.store, "no room")
        #expect(code { _ = try ask(client, "new", .register(at: nil)) } == .readOnly)
        #expect(code { _ = try ask(client, "old", .remove) } == .readOnly)
        #expect(try bench.bench.store.consumers().map(\.name) == ["old"])
        clock.advance(byNanoseconds: DaemonLimits.spaceRetryNanoseconds)
        try bench.engine.committer.retryIfDue()
        #expect(try ask(client, "new", .register(at: nil)) != nil)
        // Removing a consumer may free the segments that fill the journal's disk.
        bench.engine.committer.enterReadOnly(.journal, "no room")
        #expect(code { _ = try ask(client, "newer", .register(at: nil)) } == .readOnly)
        #expect(try ask(client, "old", .remove) != nil)
        try bench.crash()
        #expect(try bench.bench.store.consumers().map(\.name) == ["new"])
    }

    @Test
    func `law 3: a store filled by consumers refuses another one and registers nothing`()
        throws
    {
        for limit in [300 << 10, 64 << 20] {
            var limits = DaemonLimits()
            (limits.consumers, limits.consumersPerUser) = (65_536, 65_536)
            let bench = try CommitBench(
                quotaBytes: limit, limits: limits)
            let name = String(repeating: "n", count: 120)
            var registered: [String] = []
            for number in 0..<1_500 {
                do {
                    let consumer = try bench.committer.register("\(name)\(number)", at: 1)
                    registered.append(consumer.name)
                } catch let error as TandemError {
                    #expect(error.code == .readOnly)
                    break
                }
            }
            #expect(registered.count == 1_500 || (limit == 300 << 10 && registered.count > 100))
            #expect(try bench.store.consumers().map(\.name) == registered.sorted())
            try bench.crash()
            #expect(try bench.store.consumers().map(\.name) == registered.sorted())
        }
    }

    @Test func `a consumer belongs to its user and to admins`() throws {
        let bench = try EngineBench(roles: Self.policy)
        let owner = try bench.client(as: Self.owner)
        let other = try bench.client(as: Self.other)
        let admin = try bench.client(as: Self.admin)
        let reader = try bench.client(as: Self.reader)
        let end = bench.position.number
        #expect(code { _ = try ask(reader, "r", .register(at: nil)) } == .denied)
        #expect(try ask(owner, "mirror", .register(at: position(bench, 0))) == 0)
        #expect(try ask(owner, "mirror", .register(at: nil)) == 0)
        for action: ConsumerRequest.Action in [
            .register(at: nil), .acknowledge(position(bench, end)), .remove,
        ] {
            #expect(code { _ = try ask(other, "mirror", action) } == .denied)
            #expect(code { _ = try ask(reader, "mirror", action) } == .denied)
        }
        #expect(try ask(owner, "mirror", .acknowledge(position(bench, end))) == end)
        #expect(try ask(owner, "mirror", .acknowledge(position(bench, 0))) == end)
        let shown = try #require(bench.engine.status["consumers"]?.array?.first)
        #expect(shown["uid"]?.int == 5_001 && shown["acknowledged"]?.int == Int64(end))
        #expect(try ask(admin, "mirror", .remove) == end)
        #expect(try ask(owner, "mirror", .remove) == nil)
        #expect(bench.engine.status["consumers"]?.array?.isEmpty == true)
    }

    @Test
    func `law 2: a reset moves back and forth, survives a crash, and revives expired consumers`()
        throws
    {
        let bench = try EngineBench(roles: Self.policy)
        let client = try bench.client(as: Self.owner)
        try fill(bench, 1...20)
        let end = bench.position.number
        #expect(code { _ = try ask(client, "mirror", .reset(to: nil)) } == .usage)
        #expect(try ask(client, "mirror", .register(at: nil)) == end)
        #expect(try ask(client, "mirror", .reset(to: position(bench, 3))) == 3)
        // An earlier acknowledgement that was not in the store yet is not restored.
        #expect(try ask(client, "mirror", .acknowledge(position(bench, end))) == end)
        #expect(try ask(client, "mirror", .reset(to: position(bench, 7))) == 7)
        let other = try bench.client(as: Self.other)
        #expect(code { _ = try ask(other, "mirror", .reset(to: nil)) } == .denied)
        #expect(
            code { _ = try ask(client, "mirror", .reset(to: position(bench, end + 1))) } == .usage)
        try bench.crash()
        #expect(try bench.bench.committer.consumer(named: "mirror")?.acknowledged == 7)
        try bench.bench.committer.journal.trim(below: end)
        let again = try bench.client(as: Self.owner)
        let reset: ConsumerRequest.Action = .reset(to: position(bench, 7))
        #expect(code { _ = try ask(again, "mirror", reset) } == .historyExpired)
        #expect(try ask(again, "mirror", .reset(to: nil)) == end)
        #expect(bench.engine.status["consumers"]?.array?.first?["expired"]?.bool == false)
    }

    @Test func `a session holds the consumers that it registers and acknowledges, until it ends`()
        throws
    {
        let bench = try EngineBench(roles: Self.policy)
        let first = try bench.client(as: Self.owner)
        let second = try bench.client(as: Self.owner)
        let end = position(bench, bench.position.number)
        #expect(try ask(first, "mirror", .register(at: end)) == end.number)
        #expect(try ask(first, "mirror", .register(at: nil)) == end.number)
        for action: ConsumerRequest.Action in [.register(at: nil), .acknowledge(end)] {
            #expect(code { _ = try ask(second, "mirror", action) } == .consumerInUse)
        }
        // Another user is refused because the consumer belongs to the first one.
        #expect(
            code { _ = try ask(try bench.client(as: Self.other), "mirror", .remove) } == .denied)
        #expect(try ask(second, "mirror", .reset(to: end)) == end.number)
        #expect(try ask(second, "other", .register(at: nil)) == end.number)
        #expect(try ask(first, "mirror", .acknowledge(end)) == end.number)
        let session = try #require(bench.engine.admission.ordered.first)
        bench.engine.disconnect(session, because: nil)
        #expect(try ask(second, "mirror", .acknowledge(end)) == end.number)
        let third = try bench.client(as: Self.owner)
        #expect(code { _ = try ask(third, "mirror", .acknowledge(end)) } == .consumerInUse)
        // A removal ends the hold, and the next registration begins another one.
        #expect(try ask(third, "mirror", .remove) == end.number)
        #expect(try ask(third, "mirror", .register(at: nil)) == end.number)
        #expect(code { _ = try ask(second, "mirror", .acknowledge(end)) } == .consumerInUse)
    }

    @Test func `law 2: names that only look alike belong to two consumers, each of its own user`()
        throws
    {
        let bench = try EngineBench(roles: Self.policy)
        let owner = try bench.client(as: Self.owner)
        let other = try bench.client(as: Self.other)
        let end = bench.position.number
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        #expect(try ask(owner, composed, .register(at: position(bench, 0))) == 0)
        #expect(try ask(other, decomposed, .register(at: position(bench, 0))) == 0)
        #expect(try ask(other, decomposed, .acknowledge(position(bench, end))) == end)
        #expect(code { _ = try ask(other, composed, .remove) } == .denied)
        #expect(try ask(owner, composed, .acknowledge(position(bench, 0))) == 0)
        #expect(try ask(owner, composed, .remove) == 0)
        #expect(try ask(other, decomposed, .remove) == end)
    }

    @Test
    func `law 2: positions of another log, beyond the end, or in removed segments are refused`()
        throws
    {
        let bench = try EngineBench()
        let client = try bench.client()
        let end = bench.position
        var foreign = end
        foreign.epoch += 1
        #expect(code { _ = try ask(client, "a", .register(at: foreign)) } == .historyExpired)
        let beyond = position(bench, end.number + 1)
        #expect(code { _ = try ask(client, "a", .register(at: beyond)) } == .usage)
        #expect(code { _ = try ask(client, "a", .acknowledge(end)) } == .usage)
        #expect(code { _ = try ask(client, "a\nb", .register(at: nil)) } == .usage)
        // A name that LMDB does not accept as a key affects no other client.
        let long = String(repeating: "n", count: 600)
        for action: ConsumerRequest.Action in [.register(at: nil), .acknowledge(end), .remove] {
            #expect(code { _ = try ask(client, "", action) } == .usage)
            #expect(code { _ = try ask(client, long, action) } == .usage)
        }
        #expect(try ask(client, "a", .register(at: end)) == end.number)
        #expect(code { _ = try ask(client, "a", .acknowledge(foreign)) } == .historyExpired)
        #expect(code { _ = try ask(client, "a", .acknowledge(beyond)) } == .usage)
    }

    @Test func `segments that a consumer held are removed after its removal, also without saves`()
        throws
    {
        let bench = try EngineBench()
        let client = try bench.client()
        let start = position(bench, 1)
        #expect(try ask(client, "mirror", .register(at: start)) == 1)
        try fill(bench, 1...20)
        try bench.bench.committer.checkpoint()
        bench.engine.journalMaintenance.setPolicy(RetentionPolicy(keepBytes: 0))
        bench.engine.journalMaintenance.retain()
        #expect(first(bench) <= 2 && !bench.engine.journalMaintenance.isRetentionDue)
        #expect(try ask(client, "mirror", .remove) == 1)
        #expect(bench.engine.journalMaintenance.isRetentionDue)
        bench.engine.journalMaintenance.retain()
        #expect(first(bench) > 10)
        #expect(!bench.engine.journalMaintenance.isRetentionDue)
    }

    @Test func `law 7: random requests of consumers never remove a segment that one still needs`()
        throws
    {
        var random = SplitMix64(seed: seed)
        let bench = try EngineBench()
        let policy = RetentionPolicy(keepBytes: 0)
        bench.engine.journalMaintenance.setPolicy(policy)
        var told: [String: UInt64] = [:]
        var number: UInt64 = 0
        for step in 0..<300 {
            let name = "c\(Int.random(in: 0..<4, using: &random))"
            let committer = bench.bench.committer
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                number += 1
                try fill(bench, number...number)
            case 4:
                told[name] = try committer.register(name, at: committer.position).acknowledged
            case 5: told[name] = try committer.removeConsumer(name) == nil ? told[name] : nil
            case 6, 7:
                guard let at = told[name] else { continue }
                let next = UInt64.random(in: at...committer.position, using: &random)
                told[name] = try committer.acknowledge(name, next).acknowledged
            case 8: try committer.checkpoint()
            default:
                try bench.crash()
                bench.engine.journalMaintenance.setPolicy(policy)
                for consumer in try bench.bench.store.consumers() {
                    let before = try #require(told[consumer.name], "seed \(seed), step \(step)")
                    #expect(consumer.acknowledged <= before, "seed \(seed), step \(step)")
                    told[consumer.name] = consumer.acknowledged
                }
                #expect(try bench.bench.store.consumers().count == told.count, "seed \(seed)")
            }
            bench.engine.journalMaintenance.retain()
            for (name, at) in told {
                #expect(at >= first(bench) - 1, "seed \(seed), step \(step), \(name)")
            }
        }
    }
}
