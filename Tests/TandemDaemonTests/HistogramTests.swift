import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Histograms of durations, and the durations that the engine records.
@Suite(.ownThread) struct HistogramTests {
    @Test func `every duration is in the first bucket whose bound is not below it`() {
        var random = SplitMix64(seed: seed)
        var durations: [UInt64] = [0, 1, 999, 1_000, 1_001, 2_000, 2_001, 4_000, .max]
        for bit in 0..<40 as Range<UInt64> {
            durations += [1_000 << bit, (1_000 << bit) - 1, (1_000 << bit) + 1]
            durations.append(UInt64.random(in: 0...(1_000 << bit), using: &random))
        }
        for duration in durations {
            let first = (0..<Histogram.bounded).first {
                duration <= Histogram.microseconds(ofBucket: $0) * 1_000
            }
            #expect(
                Histogram.bucket(ofNanoseconds: duration) == first ?? Histogram.bounded,
                "\(duration), seed \(seed)")
        }
    }

    @Test func `count, sum, mean and maximum agree with the recorded durations`() {
        var histogram = Histogram()
        #expect(histogram.mean == 0)
        histogram.record(nanoseconds: 1_500)
        histogram.record(nanoseconds: 40_000_000_000)
        histogram.record(nanoseconds: 3_000, times: 2)
        #expect(histogram.count == 4 && histogram.counts.reduce(0, +) == 4)
        #expect(histogram.nanoseconds == 40_000_007_500 && histogram.longest == 40_000_000_000)
        #expect(histogram.counts[1] == 1 && histogram.counts[2] == 2)
        #expect(histogram.counts[Histogram.bounded] == 1)
    }

    @Test func `a save is timed from its arrival, without requests queued before it`()
        throws
    {
        let clock = ManualClock()
        let bench = try EngineBench(engineClock: clock)
        let client = try bench.client()
        for _ in 0...DaemonLimits.requestsInTurn { _ = try client.send(.status) }
        try bench.turn()
        clock.advance(byNanoseconds: 5_000_000_000)
        let save = client.saveRequest([try bench.bench.insert("Node", 1)])
        let id = try client.send(.save(save))
        try bench.turn()
        #expect(bench.engine.reporter.metrics.saves.count == 1)
        #expect(bench.engine.reporter.metrics.saves.longest == 0)
        guard case .saved = try client.answer(id) else {
            Issue.record("not saved")
            return
        }
    }

    @Test func `saves, flushes and fan-outs are recorded, refusals counted by reason`() throws {
        let bench = try EngineBench()
        let saver = try bench.client(Hello(author: "saver"))
        _ = try bench.client(Hello(author: "reader", interests: ["Node"]))
        let before = bench.engine.committer.counters.batches
        func flushes() -> UInt64 { bench.engine.committer.counters.flushes.nanoseconds }
        let flushed = flushes()
        for number in 1...3 as ClosedRange<UInt64> {
            try saver.save([try bench.bench.insert("Node", number)])
        }
        let metrics = bench.engine.reporter.metrics
        #expect(metrics.saves.count == 3 && metrics.fanOut.count == 3)
        #expect(bench.engine.committer.counters.batches == before + 3)
        // A save takes at least as long as its flush.
        #expect(metrics.saves.nanoseconds >= flushes() - flushed)
        let hostile = try bench.peer()
        try hostile.write([UInt8](repeating: 0xff, count: 64))
        try bench.turn()
        let status = bench.engine.status
        #expect(status["refusedByReason"]?["malformed"] == .int(1))
        #expect(status["refused"] == .int(1))
        #expect(status["connectionsOpened"] == .int(3))
        #expect((status["receivedBytes"]?.int ?? 0) > 100)
        #expect((status["sentBytes"]?.int ?? 0) > 300)
        #expect(status["histograms"]?["save"]?["counts"]?.array?.count == Histogram.bounded + 1)
    }

    @Test func `under steady load each fan-out is timed from its own flush to its last session`()
        throws
    {
        let clock = ManualClock()
        let bench = try EngineBench(engineClock: clock)
        let saver = try bench.client()
        let followers = try (0..<100).map { _ in
            try bench.client(Hello(author: "f", interests: ["Node"]))
        }
        func turn() throws {
            try bench.turn()
            clock.advance(byNanoseconds: 1_000_000)
            for follower in followers { try follower.read() }
        }
        while bench.engine.hasWork { try turn() }
        // A save without subscribers has no fan-out.
        try saver.save([try bench.bench.insert("Tag", 1_000)])
        #expect(
            bench.engine.reporter.metrics.fanOut.count == 0
                && bench.engine.queues.fanOuts.count == 0)
        let turns = (100 + DaemonLimits.sliceSessions - 1) / DaemonLimits.sliceSessions
        for number in UInt64(1)...10 {
            _ = try saver.send(
                .save(saver.saveRequest([try bench.bench.insert("Node", number)])))
            try turn()
            #expect(
                bench.engine.reporter.metrics.fanOut.count == number
                    - min(number, UInt64(turns) - 1))
        }
        while bench.engine.hasWork { try turn() }
        let metrics = bench.engine.reporter.metrics
        #expect(metrics.fanOut.count == 10 && bench.engine.queues.fanOuts.count == 0)
        #expect(metrics.fanOut.longest == UInt64(turns - 1) * 1_000_000)
        #expect(metrics.fanOut.mean == metrics.fanOut.longest)
    }

    @Test
    func `a fan-out waits for sessions that need more turns, not for those that lagged before`() {
        var fanOuts = FanOutTracker()
        var over: [UInt64] = []
        func end(_ turns: UInt64) { fanOuts.end(turns: turns) { over.append($0) } }
        fanOuts.begin(after: 10, upTo: 12, at: 100, turns: 5)
        fanOuts.begin(after: 12, upTo: 13, at: 200, turns: 6)
        // One session has received half of the first fan-out.
        fanOuts.waits(at: 11, turns: 8)
        // This session has lagged for a long time.
        fanOuts.waits(at: 4, turns: 90)
        end(7)
        #expect(over.isEmpty)
        fanOuts.waits(at: 12, turns: 9)
        end(8)
        #expect(over == [100])
        end(9)
        #expect(over == [100, 200] && fanOuts.count == 0)
    }
}
