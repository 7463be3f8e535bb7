import TandemModel
import TandemStore
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct MaintenanceTests {
    @Test func `readers and the map are looked at now and then, and told of once`() throws {
        let bench = try CommitBench()
        var maintenance = Maintenance()
        #expect(try maintenance.look(at: bench.store, now: 1) == [])
        #expect(maintenance.notices(dead: 0, lag: 99, percent: 69) == [])
        #expect(maintenance.notices(dead: 0, lag: 0, percent: 70) == [.nearlyFull(percent: 70)])
        #expect(maintenance.notices(dead: 0, lag: 0, percent: 80) == [])
        #expect(maintenance.notices(dead: 2, lag: 0, percent: 10) == [.deadReaders(2)])
        #expect(
            maintenance.notices(dead: 0, lag: 100, percent: 75)
                == [.oldReader(lag: 100), .nearlyFull(percent: 75)])
    }

    @Test func `the status tells of readers and of how full the map is`() throws {
        let bench = try EngineBench()
        try bench.engine.maintain()
        let status = bench.engine.status
        #expect(status["storeReaders"]?.int == 0 && status["deadReaders"]?.int == 0)
        #expect(status["oldestReaderLag"]?.int == 0)
        #expect((0...100).contains(status["usedPercent"]?.int ?? -1))
    }
}
