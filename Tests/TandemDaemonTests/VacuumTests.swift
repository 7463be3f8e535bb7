import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Vacuum requests: which segments are removed, which are retained, and which readers are expired.
@Suite(.ownThread) struct VacuumTests {
    private static let text = PropertyValue.string(String(repeating: "x", count: 30_000))

    /// Saves nodes of 30 kB, four of which fill a segment.
    private func fill(_ bench: EngineBench, _ numbers: ClosedRange<UInt64>) throws {
        for number in numbers {
            try bench.bench.save([try bench.bench.insert("Node", number, ["name": Self.text])])
        }
    }

    private func ask(_ peer: Peer, _ request: VacuumRequest) throws -> VacuumAnswer {
        switch try peer.ask(.vacuum(request)) {
        case .vacuumed(let answer): return answer
        case .failure(let error): throw error
        default: throw TandemError(.usage, "an unexpected answer about the journal")
        }
    }

    private func first(_ bench: EngineBench) -> UInt64 {
        bench.bench.committer.journal.bounds.first
    }

    @Test func `a dry run reports the effect of the request, and changes nothing`() throws {
        let bench = try EngineBench()
        let client = try bench.client()
        try fill(bench, 1...20)
        var request = VacuumRequest(keepBytes: 400 << 10, isDryRun: true)
        let checkpoint = bench.bench.store.checkpointPosition
        let said = try ask(client, request)
        #expect(said.segments > 1 && first(bench) == 1)
        #expect(bench.bench.store.checkpointPosition == checkpoint)
        request.isDryRun = false
        let done = try ask(client, request)
        #expect(done == said)
        #expect(first(bench) == said.trimBelow)
        let bytes = bench.bench.committer.journal.segments.reduce(0) { $0 + $1.bytes }
        #expect(bytes == done.keptBytes && bytes <= 400 << 10)
        #expect(try ask(client, request).segments == 0)
        #expect(bench.log.lines.contains { $0.contains("journal-trimmed") })
    }

    @Test func `law 1: transactions of removed segments are in the store after a crash`() throws {
        let bench = try EngineBench()
        let client = try bench.client()
        try fill(bench, 1...20)
        let kept = try dump(bench.bench.store)
        _ = try ask(client, VacuumRequest(keepBytes: 0))
        #expect(first(bench) > 10)
        try bench.crash()
        #expect(try dump(bench.bench.store) == kept)
    }

    @Test func `law 2: segments that a consumer, a client or a pin needs are kept, each named`()
        throws
    {
        let bench = try EngineBench()
        let client = try bench.client()
        try fill(bench, 1...20)
        _ = try bench.bench.committer.register("mirror", at: 5)
        let end = bench.position.number
        _ = try client.ask(.pin(PinRequest(lease: 1, position: end - 8)))
        let held = try ask(client, VacuumRequest(keepBytes: 0))
        #expect(first(bench) <= 6)
        #expect(held.holders.map(\.kind) == [.consumer, .pin])
        #expect(held.holders.first?.name == "mirror" && held.holders.first?.position == 5)
        #expect(held.holders.last?.name.contains("(test, pid ") == true)
        #expect(held.holders[0].bytes > held.holders[1].bytes)
        // With force both are expired, and get an error at their next request.
        let forced = try ask(client, VacuumRequest(keepBytes: 0, isForced: true))
        #expect(forced.holders.map(\.kind) == [.consumer, .pin])
        #expect(first(bench) == forced.trimBelow && first(bench) > end - 8)
        #expect(bench.log.lines.contains { $0.contains("consumer-expired") })
        #expect(bench.engine.journalMaintenance.retention.counters.expiredPins == 1)
        let error = #expect(throws: TandemError.self) {
            try bench.bench.committer.acknowledge("mirror", end)
        }
        #expect(error?.code == .historyExpired)
    }

    @Test func `a request removes a bounded number of segments, the next one the rest`() throws {
        let bench = try EngineBench()
        let client = try bench.client()
        try fill(bench, 1...60)
        let segments = bench.bench.committer.journal.segments.count
        #expect(segments > DaemonLimits.trimmedSegments + 1)
        let part = try ask(client, VacuumRequest(keepBytes: 0))
        #expect(part.isMore && Int(part.segments) == DaemonLimits.trimmedSegments)
        var rest = part
        while rest.isMore { rest = try ask(client, VacuumRequest(keepBytes: 0)) }
        #expect(bench.bench.committer.journal.segments.count == 1)
    }

    @Test func `only an admin removes segments`() throws {
        let bench = try EngineBench()
        try fill(bench, 1...20)
        let stranger = PeerCredentials(uid: 5_001, gid: 5_001, pid: 11)
        let client = try bench.client(as: stranger)
        #expect(try ask(client, VacuumRequest(keepBytes: 0, isDryRun: true)).segments > 0)
        let error = #expect(throws: TandemError.self) {
            try ask(client, VacuumRequest(keepBytes: 0))
        }
        #expect(error?.code == .denied && first(bench) == 1)
    }
}
