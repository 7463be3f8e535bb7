import TandemIO
import TandemWire
import Testing

@testable import TandemDaemon

/// What the service manager hears, on a clock that only the test moves.
@Suite(.ownThread) struct SupervisionTests {
    let clock = ManualClock(monotonicNanoseconds: 1)
    let heard = Log()

    private func supervision(watchdog: UInt64? = 2_000_000) -> Supervision {
        Supervision(clock: clock, watchdogMicroseconds: watchdog) { [heard] in heard.add($0) }
    }

    private var pings: Int { heard.lines.count { $0 == "WATCHDOG=1" } }

    @Test func `a start that gets on asks for more time, one that does not says nothing`() {
        let supervision = supervision()
        supervision.begins("opening the store")
        supervision.begins("reading the journal", readingBytes: 80 << 20)
        #expect(
            heard.lines == [
                "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=opening the store",
                "EXTEND_TIMEOUT_USEC=70000000\nSTATUS=reading the journal",
            ])
        // Nothing was applied for minutes: nothing is said.
        clock.advance(byNanoseconds: 300_000_000_000)
        #expect(heard.lines.count == 2)
        for position in 1...10_000 as ClosedRange<UInt64> {
            clock.advance(byNanoseconds: 1_000_000)
            supervision.replayed(position, of: 10_000)
        }
        // Ten seconds of work: told at once, and once in five seconds.
        #expect(heard.lines.count == 4, "\(heard.lines)")
        #expect(heard.lines[2] == "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=replaying 256 of 10000")
        #expect(pings == 0)
    }

    @Test func `signs of life begin with the service, follow completed rounds, and end with it`() {
        let supervision = supervision()
        clock.advance(byNanoseconds: 10_000_000_000)
        supervision.passed("early")
        #expect(heard.lines == [] && supervision.nextWake == nil)
        supervision.ready("serving")
        supervision.passed("serving")
        #expect(pings == 0)
        for round in 1...5 {
            clock.advance(byNanoseconds: 1_000_000_000)
            supervision.passed("serving")
            #expect(pings == round)
        }
        // The status is told when it is news, with a sign of life.
        clock.advance(byNanoseconds: 1_000_000_000)
        supervision.passed("more")
        #expect(heard.lines.suffix(2) == ["WATCHDOG=1", "STATUS=more"])
        supervision.stopping()
        clock.advance(byNanoseconds: 9_000_000_000)
        supervision.passed("late")
        #expect(heard.lines.last == "STOPPING=1\nSTATUS=stopping")
    }

    @Test func `who is not watched is not woken, and still tells how it is`() {
        let supervision = supervision(watchdog: nil)
        supervision.ready("serving")
        clock.advance(byNanoseconds: 1 << 40)
        supervision.passed("serving")
        supervision.tell("read-only")
        supervision.tell("read-only")
        #expect(heard.lines == ["READY=1\nSTATUS=serving", "STATUS=read-only"])
        #expect(supervision.nextWake == nil)
    }

    @Test func `a change in one piece gets the time it needs, and the watchdog is as before after`()
    {
        struct Refused: Error {}
        let supervision = supervision()
        supervision.ready("serving")
        #expect(throws: Refused.self) { try supervision.patiently { throw Refused() } }
        #expect(
            heard.lines.dropFirst() == [
                "WATCHDOG_USEC=21600000000", "WATCHDOG_USEC=2000000\nWATCHDOG=1",
            ])
    }

    @Test func `the loop gives a sign for each completed round, none while a round hangs or fails`()
        throws
    {
        let supervision = supervision()
        let bench = try EngineBench(supervision: supervision, engineClock: clock)
        let waits = Waits(clock)
        let loop = try ServiceLoop(bench.engine, listener: nil, poller: waits)
        bench.engine.begin()
        for round in 1...3 {
            #expect(try !loop.pass())
            #expect(pings == round)
        }
        // It never slept beyond the time of a sign.
        #expect(waits.timeouts.allSatisfy { (1...1_001).contains($0) }, "\(waits.timeouts)")
        waits.fails = true
        #expect(throws: IOError.self) { try loop.pass() }
        #expect(pings == 3)
    }
}

/// A poller on which nothing ever happens but the time that passes.
private final class Waits: Readiness {
    let clock: ManualClock
    var fails = false
    private(set) var timeouts: [Int32] = []

    init(_ clock: ManualClock) { self.clock = clock }

    func add(_ target: Int32, token: UInt64, interest: Interest) {}
    func modify(_ target: Int32, token: UInt64, interest: Interest) {}

    func wait(timeoutMilliseconds: Int32, into events: inout [Poller.Event]) throws(IOError) {
        events.removeAll()
        timeouts.append(timeoutMilliseconds)
        if fails { throw IOError(.sync, "<disk>", errno: 5) }
        clock.advance(byNanoseconds: UInt64(max(0, timeoutMilliseconds)) * 1_000_000)
    }
}
