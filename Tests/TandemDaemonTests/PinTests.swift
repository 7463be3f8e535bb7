import TandemIO
import TandemJournal
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Pins as leases: the segments they retain, and their expiry.
@Suite(.ownThread) struct PinTests {
    private let clock = ManualClock(
        monotonicNanoseconds: 1, wallMicroseconds: 1_800_000_000_000_000)
    private let text = PropertyValue.string(String(repeating: "x", count: 30_000))
    private let nodes = FetchDescriptor(entity: "Node", sort: ["rank"])

    private func bench(_ policy: RetentionPolicy) throws -> EngineBench {
        let bench = try EngineBench(clock: clock)
        bench.engine.journalMaintenance.setPolicy(policy)
        return bench
    }

    /// Saves nodes of 30 kB, four of which fill a segment, and applies the retention.
    private func fill(_ bench: EngineBench, _ numbers: ClosedRange<UInt64>) throws {
        let saver = try bench.client()
        for number in numbers {
            try saver.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        try bench.bench.committer.checkpoint()
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
    }

    private func first(_ bench: EngineBench) -> UInt64 {
        bench.bench.committer.journal.bounds.first
    }

    private func pin(_ client: Peer, _ lease: UInt32, _ position: UInt64) throws -> PinAnswer? {
        guard
            case .pinned(let answer) = try client.ask(
                .pin(PinRequest(lease: lease, position: position)))
        else { return nil }
        return answer
    }

    private func error(_ client: Peer, _ at: UInt64, _ lease: UInt32) throws -> TandemError? {
        let fetch = Fetch(request: nodes, kind: .count, at: at, lease: lease)
        if case .failure(let error) = try client.ask(.fetch(fetch)) { return error }
        return nil
    }

    @Test func `a pin retains the journal until it is moved, released or its client is gone`()
        throws
    {
        let bench = try bench(RetentionPolicy(keepBytes: 0))
        let client = try bench.client()
        try fill(bench, 1...8)
        let start = bench.position.number
        #expect(try pin(client, 1, start)?.seconds == 3_600)
        #expect(try pin(client, 2, start)?.position == start)
        try fill(bench, 9...30)
        #expect(first(bench) <= start + 1)
        let fetch = Fetch(request: nodes, kind: .count, at: start, lease: 1)
        #expect(try client.fetch(fetch).count == 8)
        let status = bench.engine.status["clients"]?.array?.first
        #expect(status?["pins"]?.int == 2 && status?["oldestPin"]?.int == Int64(start))
        #expect(try pin(client, 1, start + 10)?.position == start + 10)
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) <= start + 1)
        #expect(try pin(client, 2, 0) == PinAnswer(position: 0, seconds: 0))
        #expect(bench.engine.journalMaintenance.isRetentionDue)
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect((start + 5...start + 11).contains(first(bench)))
        bench.engine.disconnect(client.session, because: nil)
        #expect(bench.engine.journalMaintenance.isRetentionDue)
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) > start + 15)
    }

    @Test
    func `a pin expires after its duration, is reported as expired, and then retains nothing`()
        throws
    {
        let bench = try bench(RetentionPolicy(keepBytes: 0))
        let client = try bench.client()
        try fill(bench, 1...8)
        let start = bench.position.number
        #expect(try pin(client, 1, start) != nil)
        try fill(bench, 9...30)
        clock.advance(byNanoseconds: 3_599_000_000_000)
        #expect(try error(client, start, 1) == nil)
        #expect(!bench.engine.journalMaintenance.isRetentionDue)
        clock.advance(byNanoseconds: 1_000_000_000)
        // The pin expires although the journal still has everything after it.
        #expect(bench.engine.journalMaintenance.isRetentionDue)
        let ended = try error(client, start, 1)
        #expect(ended?.code == .historyExpired)
        #expect(ended?.message.contains("limits.pinSeconds") == true)
        #expect(try error(client, start, 0) == nil)
        #expect(bench.engine.status["retention"]?["expiredPins"]?.int == 1)
        for _ in 0..<20 { bench.engine.journalMaintenance.retain() }
        #expect(first(bench) > start + 15)
        // The pin can be renewed at a readable position; at the old position it stays expired.
        guard
            case .failure(let refusal) = try client.ask(.pin(PinRequest(lease: 1, position: start)))
        else {
            Issue.record("pinned where nothing is kept")
            return
        }
        #expect(refusal.code == .historyExpired)
        let end = bench.position.number
        #expect(try pin(client, 1, end)?.position == end)
        #expect(try error(client, end, 1) == nil)
    }

    @Test func `a pin beyond the cap expires, and reads before a pin are refused`() throws {
        let bench = try bench(RetentionPolicy(capBytes: 300 << 10))
        let client = try bench.client()
        let start = bench.position.number
        #expect(try pin(client, 1, start) != nil)
        try fill(bench, 1...40)
        #expect(first(bench) > start + 1)
        #expect(client.session.pins.isEmpty)
        #expect(bench.engine.journalMaintenance.retention.counters.expiredPins == 1)
        #expect(try error(client, start, 1)?.code == .historyExpired)
        let end = bench.position.number
        #expect(try pin(client, 1, end) != nil)
        #expect(try error(client, end - 1, 1)?.code == .historyExpired)
        #expect(try error(client, end - 1, 0) == nil)
        guard case .failure(let usage) = try client.ask(.pin(PinRequest(lease: 0, position: end)))
        else {
            Issue.record("a pin without a number")
            return
        }
        #expect(usage.code == .usage)
    }

    @Test func `a pin before a newly installed model expires, as it is no longer readable`()
        throws
    {
        let bench = try EngineBench(
            model: ManagedObjectModel { Entity("Node") { Attribute("name", .string) } })
        let client = try bench.client()
        try client.save([try bench.bench.insert("Node", 1, ["name": .string("a")])])
        let start = bench.position.number
        #expect(try pin(client, 1, start) != nil)
        let model = ManagedObjectModel {
            Entity("Node") {
                Attribute("name", .string)
                Attribute("rank", .int)
            }
        }
        guard case .schema = try client.ask(.schema(SchemaRequest(model: model.json.text))) else {
            Issue.record("the model was not installed")
            return
        }
        #expect(client.session.pins.isEmpty)
        #expect(bench.engine.journalMaintenance.retention.counters.expiredPins == 1)
        #expect(bench.engine.journalMaintenance.isRetentionDue)
        #expect(try error(client, start, 1)?.code == .historyExpired)
        // The position of the model itself is readable.
        let end = bench.position.number
        #expect(try pin(client, 1, end)?.position == end)
        #expect(try error(client, end, 1) == nil)
    }
}
