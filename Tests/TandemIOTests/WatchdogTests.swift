import Glibc
import TestSupport
import Testing

@testable import TandemIO

/// The watchdog schedule: messages only for completed work, in time, and at most twice as often as
/// needed.
@Suite(.ownThread) struct WatchdogTests {
    @Test func `a message is due half a timeout after the last, if work was completed`() {
        var schedule = WatchdogSchedule(timeoutMicroseconds: 2_000, now: 10)
        #expect(schedule.interval == 1_000_000)
        #expect(schedule.nextWake == 1_000_010)
        let sign1 = schedule.completed(at: 1_000_009)
        #expect(!sign1)
        let sign2 = schedule.completed(at: 1_000_010)
        #expect(sign2)
        let sign3 = schedule.completed(at: 1_000_011)
        #expect(!sign3)
        #expect(schedule.nextWake == 2_000_010)
    }

    @Test func `after a long hang one message is sent, not all that were missed`() {
        var schedule = WatchdogSchedule(timeoutMicroseconds: 2_000, now: 0)
        let sign4 = schedule.completed(at: 9_500_000)
        #expect(sign4)
        let sign5 = schedule.completed(at: 9_500_001)
        #expect(!sign5)
        #expect(schedule.nextWake == 10_500_000)
    }

    @Test func `with rounds of up to half a timeout two messages are never a timeout apart`() {
        let timeout: UInt64 = 1_000_000
        var schedule = WatchdogSchedule(timeoutMicroseconds: timeout, now: 0)
        var random = SplitMix64(seed: seed)
        var (now, last): (UInt64, UInt64) = (0, 0)
        for _ in 0..<10_000 {
            // A round begins with an event or when the schedule wakes the owner; then it works.
            let sleep = UInt64.random(in: 0...timeout * 1_000, using: &random)
            now = min(now + sleep, max(now, schedule.nextWake))
            now += UInt64.random(in: 0..<timeout * 500, using: &random)
            guard schedule.completed(at: now) else { continue }
            #expect(now - last < timeout * 1_000, "TANDEM_SEED=\(seed)")
            last = now
        }
    }

    @Test func `the watchdog of another process is ignored, and so are invalid values`() {
        #expect(Notify.watchdogMicroseconds(owner: nil, timeout: "60000000") == 60_000_000)
        #expect(Notify.watchdogMicroseconds(owner: "\(getpid())", timeout: "5") == 5)
        #expect(Notify.watchdogMicroseconds(owner: "1", timeout: "5") == nil)
        for timeout in [nil, "", "0", "-1", "soon"] {
            #expect(Notify.watchdogMicroseconds(owner: nil, timeout: timeout) == nil)
        }
        let endless = WatchdogSchedule(timeoutMicroseconds: .max, now: 5)
        #expect(endless.nextWake > 5)
    }

    @Test func `messages are single lines whatever the text`() {
        #expect(Notify.status("a\nREADY=1\r\nb") == "STATUS=a READY=1 b")
        #expect(Notify.ready("up") == "READY=1\nSTATUS=up")
    }
}
