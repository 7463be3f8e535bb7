import TandemModel
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct ReadOnlyStateTests {
    private let second = DaemonLimits.spaceRetryNanoseconds

    @Test func `a daemon without shortages accepts saves and has nothing to retry`() {
        let readOnlyState = ReadOnlyState()
        #expect(!readOnlyState.isReadOnly)
        #expect(readOnlyState.refusal == nil)
        #expect(readOnlyState.reason.isEmpty)
        #expect(readOnlyState.since == nil)
        #expect(readOnlyState.nextRetry == nil)
    }

    @Test(arguments: ReadOnlyState.Shortage.allCases)
    func `a shortage refuses saves and is retried later`(
        _ shortage: ReadOnlyState.Shortage
    ) {
        var readOnlyState = ReadOnlyState()
        readOnlyState.record(shortage, "no room on /x", bytes: 7, wall: 100, monotonic: 1_000)
        #expect(readOnlyState.refusal?.code == .readOnly)
        #expect(readOnlyState.refusal?.message.contains("no room on /x") == true)
        #expect(readOnlyState.since == 100)
        #expect(readOnlyState.due(at: 1_000 + second - 1).isEmpty)
        #expect(readOnlyState.due(at: 1_000 + second).map(\.shortage) == [shortage])
        #expect(readOnlyState.due(at: 1_000 + second).map(\.bytes) == [7])
    }

    @Test func `a persistent shortage keeps its start and is retried later still`() {
        var readOnlyState = ReadOnlyState()
        readOnlyState.record(.journal, "first", wall: 100, monotonic: 0)
        readOnlyState.record(.journal, "second", wall: 900, monotonic: second)
        #expect(readOnlyState.shortages.count == 1)
        #expect(readOnlyState.since == 100)
        #expect(readOnlyState.reason.contains("second"))
        #expect(readOnlyState.nextRetry == 2 * second)
    }

    @Test func `saves are accepted again when the last of several shortages has ended`() {
        var readOnlyState = ReadOnlyState()
        readOnlyState.record(.journal, "a", wall: 2, monotonic: 0)
        readOnlyState.record(.store, "b", wall: 1, monotonic: 5)
        #expect(readOnlyState.since == 1)
        readOnlyState.clear(.journal)
        #expect(readOnlyState.isReadOnly)
        #expect(!readOnlyState.isShort(.journal))
        readOnlyState.clear(.store)
        #expect(readOnlyState == ReadOnlyState())
    }
}
