import TandemIO
import TandemWire
import Testing

@testable import TandemDaemon

/// The messages to the service manager, with a clock that only the test advances.
@Suite(.ownThread) struct ServiceNotifierTests {
    let clock = ManualClock(monotonicNanoseconds: 1)
    let heard = Log()

    private func notifier(watchdog: UInt64? = 2_000_000) -> ServiceNotifier {
        ServiceNotifier(clock: clock, watchdogMicroseconds: watchdog) { [heard] in heard.add($0) }
    }

    private var pings: Int { heard.lines.count { $0 == "WATCHDOG=1" } }

    @Test func `a start that makes progress asks for more time, one that does not sends nothing`() {
        let notifier = notifier()
        notifier.begins("opening the store")
        notifier.begins("reading the journal", readingBytes: 80 << 20)
        #expect(
            heard.lines == [
                "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=opening the store",
                "EXTEND_TIMEOUT_USEC=70000000\nSTATUS=reading the journal",
            ])
        // Nothing was applied for minutes, so nothing is sent.
        clock.advance(byNanoseconds: 300_000_000_000)
        #expect(heard.lines.count == 2)
        for position in 1...10_000 as ClosedRange<UInt64> {
            clock.advance(byNanoseconds: 1_000_000)
            notifier.replayed(position, of: 10_000)
        }
        // Ten seconds of work: one message at once, and one after five seconds.
        #expect(heard.lines.count == 4, "\(heard.lines)")
        #expect(heard.lines[2] == "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=replaying 256 of 10000")
        #expect(pings == 0)
    }

    @Test
    func `watchdog messages begin with the service, follow completed rounds, and end with it`() {
        let notifier = notifier()
        clock.advance(byNanoseconds: 10_000_000_000)
        notifier.passed("early")
        #expect(heard.lines == [] && notifier.nextWake == nil)
        notifier.ready("serving")
        notifier.passed("serving")
        #expect(pings == 0)
        for round in 1...5 {
            clock.advance(byNanoseconds: 1_000_000_000)
            notifier.passed("serving")
            #expect(pings == round)
        }
        // A new status is sent with the next watchdog message.
        clock.advance(byNanoseconds: 1_000_000_000)
        notifier.passed("more")
        #expect(heard.lines.suffix(2) == ["WATCHDOG=1", "STATUS=more"])
        notifier.stopping()
        clock.advance(byNanoseconds: 9_000_000_000)
        notifier.passed("late")
        #expect(heard.lines.last == "STOPPING=1\nSTATUS=stopping")
    }

    @Test func `a service without watchdog is not woken, and still sends its status`() {
        let notifier = notifier(watchdog: nil)
        notifier.ready("serving")
        clock.advance(byNanoseconds: 1 << 40)
        notifier.passed("serving")
        notifier.report("read-only")
        notifier.report("read-only")
        #expect(heard.lines == ["READY=1\nSTATUS=serving", "STATUS=read-only"])
        #expect(notifier.nextWake == nil)
    }

    @Test func `an uninterruptible change gets the time it needs, then the watchdog is restored`() {
        struct Refused: Error {}
        let notifier = notifier()
        notifier.ready("serving")
        #expect(throws: Refused.self) { try notifier.patiently { throw Refused() } }
        #expect(
            heard.lines.dropFirst() == [
                "WATCHDOG_USEC=21600000000", "WATCHDOG_USEC=2000000\nWATCHDOG=1",
            ])
    }

    @Test func `the loop sends a message per completed round, none while a round hangs or fails`()
        throws
    {
        let notifier = notifier()
        let bench = try EngineBench(notifier: notifier, engineClock: clock)
        let waits = Waits(clock)
        let loop = try ServiceLoop(bench.engine, listener: nil, poller: waits)
        bench.engine.begin()
        for round in 1...3 {
            #expect(try !loop.pass())
            #expect(pings == round)
        }
        // The loop never slept beyond the time of a watchdog message.
        #expect(waits.timeouts.allSatisfy { (1...1_001).contains($0) }, "\(waits.timeouts)")
        waits.fails = true
        #expect(throws: IOError.self) { try loop.pass() }
        #expect(pings == 3)
    }
}

/// A poller without events, whose waits only advance the clock.
private final class Waits: EventPoller {
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
