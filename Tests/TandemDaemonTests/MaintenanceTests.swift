import TandemModel
import TandemStore
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct MaintenanceTests {
    @Test func `readers and the map are checked at intervals, and each problem is reported once`()
        throws
    {
        let bench = try CommitBench()
        var maintenance = Maintenance()
        typealias Lag = CommitLog.Lag
        #expect(try maintenance.check(bench.committer, now: 1) == [])
        let little = Lag(seconds: 59, bytes: 1 << 30 - 1)
        #expect(maintenance.notices(dead: 0, lag: little, percent: 69) == [])
        #expect(maintenance.notices(dead: 0, lag: Lag(), percent: 70) == [.nearlyFull(percent: 70)])
        #expect(maintenance.notices(dead: 0, lag: Lag(), percent: 80) == [])
        #expect(maintenance.notices(dead: 2, lag: Lag(), percent: 10) == [.deadReaders(2)])
        let (old, large) = (Lag(seconds: 60, bytes: 0), Lag(seconds: 0, bytes: 1 << 30))
        #expect(
            maintenance.notices(dead: 0, lag: old, percent: 75)
                == [.oldReader(old), .nearlyFull(percent: 75)])
        #expect(maintenance.notices(dead: 0, lag: large, percent: 75) == [.oldReader(large)])
    }

    @Test func `a reader lags since the first commit that it does not see`() {
        var log = CommitLog()
        #expect(log.lag(behind: 4, now: 9) == CommitLog.Lag())
        for number in UInt64(5)...20_000 {
            log.record(number, bytes: 10, at: number * 1_000_000_000)
        }
        #expect(log.lag(behind: 20_000, now: 1 << 50) == CommitLog.Lag())
        #expect(
            log.lag(behind: 19_997, now: 20_010_000_000_000)
                == CommitLog.Lag(seconds: 12, bytes: 30))
        // A position that is no longer recorded lags at least as much as the oldest recorded
        // commit.
        let least = log.lag(behind: 5, now: 20_000_000_000_000)
        #expect(least.seconds >= 4_000 && least.bytes >= 40_000)
    }

    @Test func `a checkpoint has as many pages as can be written in its time`() {
        var pace = CheckpointPace()
        // The first checkpoint of a daemon is bounded too.
        #expect(pace.pages(atMost: 4_096) == 2_500)
        pace.record(pages: 100, nanoseconds: 1 << 40)
        #expect(pace.pages(atMost: 4_096) == 2_500)
        pace.record(pages: 1_000, nanoseconds: 5_000_000)
        #expect(pace.pages(atMost: 4_096) == 4_096)
        for _ in 0..<20 { pace.record(pages: 1_000, nanoseconds: 10_000_000) }
        #expect((2_490...2_510).contains(pace.pages(atMost: 4_096)))
        #expect(pace.pages(atMost: 2_000) == 2_000)
        for _ in 0..<20 { pace.record(pages: 1_000, nanoseconds: 1_000_000_000) }
        #expect(pace.pages(atMost: 4_096) == 256)
    }

    @Test func `the status contains the readers and the map's fill level`() throws {
        let bench = try EngineBench()
        try bench.engine.journalMaintenance.maintain()
        let status = bench.engine.status
        #expect(status["storeReaders"]?.int == 0 && status["deadReaders"]?.int == 0)
        #expect(status["oldestReaderSeconds"]?.int == 0)
        #expect((0...100).contains(status["usedPercent"]?.int ?? -1))
    }
}
