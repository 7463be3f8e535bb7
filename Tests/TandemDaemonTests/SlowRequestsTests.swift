import Synchronization
import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// The requests that the daemon records as slow.
@Suite(.ownThread) struct SlowRequestsTests {
    private func request(_ client: UInt64, _ milliseconds: UInt64, at second: UInt64 = 1)
        -> SlowRequests.Request
    {
        let end = second * 1_000_000_000
        return SlowRequests.Request(
            kind: "fetch", entity: "Team", client: client, author: "a", pid: 7,
            start: end - milliseconds * 1_000_000, end: end)
    }

    private func clients(_ slow: SlowRequests, at second: UInt64 = 1) -> [Int64] {
        (slow.json(at: second * 1_000_000_000).array ?? []).compactMap { $0["client"]?.int }
    }

    @Test func `the slowest are kept, the slowest first, and quick ones are not`() {
        var slow = SlowRequests()
        slow.record(request(99, 9))
        #expect(clients(slow) == [])
        let most = DaemonLimits.slowRequestsKept
        for number in 1...(2 * most) { slow.record(request(UInt64(number), 10 + UInt64(number))) }
        #expect(clients(slow) == (1...most).map { Int64(2 * most + 1 - $0) })
        slow.record(request(77, 11))
        #expect(!clients(slow).contains(77))
        let first = slow.json(at: 1_000_000_000).array?.first
        #expect(first?["microseconds"]?.int == Int64(10 + 2 * most) * 1_000)
        #expect(first?["kind"]?.string == "fetch" && first?["entity"]?.string == "Team")
    }

    @Test func `old entries make room, and are not shown`() {
        var slow = SlowRequests()
        let most = DaemonLimits.slowRequestsKept
        for number in 1...most { slow.record(request(UInt64(number), 900)) }
        let later: UInt64 = 1 + DaemonLimits.slowRequestsNanoseconds / 1_000_000_000
        #expect(clients(slow, at: later - 1).count == most)
        #expect(clients(slow, at: later) == [])
        slow.record(request(50, 20, at: later))
        #expect(clients(slow, at: later) == [50])
    }

    @Test func `a request that blocks the thread is recorded as a stall`() throws {
        let clock = JumpyClock()
        let bench = try EngineBench(engineClock: clock)
        let client = try bench.client()
        for number in UInt64(1)...20 { try client.save([try bench.bench.insert("Node", number)]) }
        _ = try client.send(.fetch(Fetch(request: FetchDescriptor(entity: "Node"))))
        func stalls() -> [JSON] {
            (bench.engine.status["stalls"]?.array ?? []).filter {
                $0["cause"]?.string == "request"
            }
        }
        #expect(stalls().isEmpty)
        clock.step = 15_000_000
        clock.jump(looks: 10)
        try bench.turn()
        #expect(!stalls().isEmpty)
    }

    @Test
    func
        `a request of a second is logged with its author; a save counts from its arrival`()
        throws
    {
        let clock = JumpyClock()
        let bench = try EngineBench(engineClock: clock)
        let client = try bench.client(Hello(author: "slow one"))
        clock.jump(looks: 20)
        _ = try client.fetch(Fetch(request: FetchDescriptor(entity: "Node")))
        #expect(!bench.log.lines.contains { $0.contains("slow: ") })
        clock.step = 2_000_000_000
        clock.jump(looks: 60)
        _ = try client.fetch(Fetch(request: FetchDescriptor(entity: "Node")))
        clock.jump(looks: 0)
        let line = try #require(bench.log.lines.last { $0.contains("slow: ") })
        for word in ["cause=fetch", "entity=Node", "author=\"slow one\"", "duration_us="] {
            #expect(line.contains(word), "\(line)")
        }
        // The save's bytes arrived while the daemon was busy for ten seconds.
        let before = bench.engine.reporter.metrics.saves.longest
        bench.arrivedAt = clock.monotonicNanoseconds
        clock.step = 10_000_000_000
        clock.jump(looks: 2)
        _ = clock.monotonicNanoseconds
        clock.jump(looks: 0)
        _ = try client.save([try bench.bench.insert("Node", try client.lease)])
        #expect(
            before < 10_000_000_000 && bench.engine.reporter.metrics.saves.longest >= 10_000_000_000
        )
    }

    /// A clock that sometimes advances by 20 ms between readings, so that earlier arrivals have
    /// waited.
    private final class JumpyClock: Clock {
        private let clock = ManualClock(monotonicNanoseconds: 1)
        private let left = Mutex(0)
        private let stepNanoseconds = Mutex(UInt64(20_000_000))
        var step: UInt64 {
            get { stepNanoseconds.withLock { $0 } }
            set { stepNanoseconds.withLock { $0 = newValue } }
        }
        var wallMicroseconds: Int64 { clock.wallMicroseconds }
        var monotonicNanoseconds: UInt64 {
            let jumps = left.withLock { left in
                if left > 0 { left -= 1 }
                return left > 0
            }
            if jumps { clock.advance(byNanoseconds: step) }
            return clock.monotonicNanoseconds
        }

        func jump(looks: Int) { left.withLock { $0 = looks } }
    }

    @Test func `the requests that clients waited for are in the status, with the clients`() throws {
        let clock = JumpyClock()
        let bench = try EngineBench(engineClock: clock)
        let client = try bench.client(Hello(author: "slow one"))
        clock.jump(looks: 20)
        _ = try client.save([try bench.bench.insert("Node", try client.lease)])
        clock.jump(looks: 20)
        _ = try client.fetch(Fetch(request: FetchDescriptor(entity: "Node")))
        let slow = bench.engine.status["slowRequests"]?.array ?? []
        let kinds = slow.compactMap { $0["kind"]?.string }
        #expect(kinds.contains("save") && kinds.contains("fetch"), "\(kinds)")
        let fetch = try #require(slow.first { $0["kind"]?.string == "fetch" })
        #expect(fetch["entity"]?.string == "Node")
        #expect(slow.allSatisfy { $0["author"]?.string == "slow one" })
        #expect(slow.allSatisfy { ($0["microseconds"]?.int ?? 0) >= 20_000 })
    }
}
