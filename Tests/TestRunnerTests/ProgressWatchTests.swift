import TestSupport
import Testing

@testable import TestRunner

/// The rule that ends tests by their own progress, independently of the load of the machine.
@Suite(.ownThread) struct ProgressWatchTests {
    private typealias Sample = ProgressWatch.Sample
    private let limits = ProgressWatch.Limits(
        idleSeconds: 10, processorSeconds: 50, idleShare: 0.02)

    /// Returns the verdict after samples of one second each, with this share of a core.
    private func verdict(
        seconds: Int, share: Double, isWaitingForDisk: Bool = false, eventEvery: Int = .max
    ) -> ProgressWatch.Verdict? {
        var watch = ProgressWatch(
            limits,
            start: Sample(time: 0, eventCount: 0, processorSeconds: 0, isWaitingForDisk: false))
        for second in 1...seconds {
            let found = watch.observe(
                Sample(
                    time: Double(second), eventCount: second / eventEvery,
                    processorSeconds: Double(second) * share, isWaitingForDisk: isWaitingForDisk))
            if let found { return found }
        }
        return nil
    }

    @Test func `a test that gets a twentieth of a core for a long time continues`() {
        #expect(verdict(seconds: 900, share: 0.05) == nil)
    }

    @Test func `a test that waits for a busy disk continues`() {
        #expect(verdict(seconds: 900, share: 0, isWaitingForDisk: true) == nil)
    }

    @Test func `a test that uses nothing is ended`() {
        #expect(verdict(seconds: 9, share: 0) == nil)
        #expect(verdict(seconds: 10, share: 0) == .stalled(seconds: 10))
    }

    @Test func `a test that never ends is ended by its processor time`() {
        #expect(verdict(seconds: 49, share: 1) == nil)
        #expect(verdict(seconds: 50, share: 1) == .runaway(processorSeconds: 50))
        #expect(verdict(seconds: 900, share: 1, eventEvery: 40) == nil, "each test has its own")
    }

    @Test func `a drop of the processor time after a process's end is not a stall`() {
        var watch = ProgressWatch(
            limits,
            start: Sample(time: 0, eventCount: 0, processorSeconds: 30, isWaitingForDisk: false))
        let fallen = Sample(time: 100, eventCount: 0, processorSeconds: 3, isWaitingForDisk: false)
        #expect(watch.observe(fallen) == nil)
    }

    @Test func `the kernel's line of a process is read, whatever its name`() throws {
        let text = "77 (a) b (c) S 1 77 76 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 999 1 1"
        let stat = try #require(ProcessSession.Stat(text: text))
        #expect(stat.id == 77 && stat.name == "a) b (c" && stat.state == "S")
        #expect(stat.session == 76 && stat.ticks == 5 + 6 + 7 + 8)
        #expect(ProcessSession.Stat(text: "") == nil)
    }
}
