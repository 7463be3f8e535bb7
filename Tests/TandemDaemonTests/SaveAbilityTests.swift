import TandemModel
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct SaveAbilityTests {
    private let second = DaemonLimits.spaceRetryNanoseconds

    @Test func `a daemon without shortages accepts saves and has nothing to retry`() {
        let ability = SaveAbility()
        #expect(!ability.isReadOnly)
        #expect(ability.refusal == nil)
        #expect(ability.reason.isEmpty)
        #expect(ability.since == nil)
        #expect(ability.nextLook == nil)
    }

    @Test(arguments: SaveAbility.Shortage.allCases)
    func `a shortage refuses saves and is retried later`(
        _ shortage: SaveAbility.Shortage
    ) {
        var ability = SaveAbility()
        ability.met(shortage, "no room on /x", bytes: 7, wall: 100, monotonic: 1_000)
        #expect(ability.refusal?.code == .readOnly)
        #expect(ability.refusal?.message.contains("no room on /x") == true)
        #expect(ability.since == 100)
        #expect(ability.due(at: 1_000 + second - 1).isEmpty)
        #expect(ability.due(at: 1_000 + second).map(\.shortage) == [shortage])
        #expect(ability.due(at: 1_000 + second).map(\.bytes) == [7])
    }

    @Test func `a persistent shortage keeps its start and is retried later still`() {
        var ability = SaveAbility()
        ability.met(.journal, "first", wall: 100, monotonic: 0)
        ability.met(.journal, "second", wall: 900, monotonic: second)
        #expect(ability.troubles.count == 1)
        #expect(ability.since == 100)
        #expect(ability.reason.contains("second"))
        #expect(ability.nextLook == 2 * second)
    }

    @Test func `saves are accepted again when the last of several shortages has ended`() {
        var ability = SaveAbility()
        ability.met(.journal, "a", wall: 2, monotonic: 0)
        ability.met(.store, "b", wall: 1, monotonic: 5)
        #expect(ability.since == 1)
        ability.ended(.journal)
        #expect(ability.isReadOnly)
        #expect(!ability.isShort(.journal))
        ability.ended(.store)
        #expect(ability == SaveAbility())
    }
}
