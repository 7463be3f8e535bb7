import TandemModel
import TandemQuery
import TandemResults
import TestSupport
import Testing

@testable import Tandem

/// The phases of a list and its reports, as values without a daemon.
@Suite(.ownThread) struct ResultsPhaseTests {
    private let start = Position(log: LogID(high: 0, low: 1), epoch: 1, number: 7)
    private let later = Position(log: LogID(high: 0, low: 1), epoch: 1, number: 9)

    private func plan() throws -> ResultsPlan {
        let model = try CompiledModel(
            ManagedObjectModel {
                Content.entity; Bucket.entity
            })
        return try ResultsPlan(
            FetchDescriptor(entity: "Content", sort: ["size"]), sectionKeyPath: nil,
            refreshKeyPaths: [], in: model)
    }

    // MARK: Phases

    @Test func `an interrupted list keeps the position of its first gap`() throws {
        let plan = try plan()
        var phase = ResultsPhase.following(plan)
        #expect(phase.followed === plan && phase.interruption == nil)
        phase.interrupt(after: start)
        phase.interrupt(after: later)
        #expect(phase.followed == nil && phase.plan === plan && phase.interruption == start)
        phase.refuse(after: later)
        #expect(phase.isRefused && phase.interruption == start)
        phase.retry()
        #expect(!phase.isRefused && phase.interruption == start)
    }

    @Test func `a list that was never fetched can't be interrupted or refused`() {
        var phase = ResultsPhase.idle
        phase.interrupt(after: start)
        phase.refuse(after: start)
        phase.retry()
        #expect(phase.plan == nil && phase.interruption == nil && !phase.isRefused)
    }

    @Test func `a plan for another model leaves the phase as it is`() throws {
        let renewed = try plan()
        var phase = ResultsPhase.following(try plan())
        phase.refuse(after: start)
        phase.renew(renewed)
        #expect(phase.plan === renewed && phase.isRefused && phase.interruption == start)
    }

    @Test func `the end of a fetch leaves a failure to be reported`() throws {
        let plan = try plan()
        let sums = try ResultsSums(["size"], of: plan.compiled.entity)
        var opening = ListOpening.pending(plan, sums)
        #expect(opening.plan === plan && opening.sums?.isEmpty == false)
        opening.end()
        #expect(opening.plan == nil && opening.sums == nil)
        opening = .failed(TandemError(.limitExceeded, "too many"))
        opening.end()
        guard case .failed(let error) = opening else { return #expect(Bool(false)) }
        #expect(error.code == .limitExceeded)
    }

    // MARK: Reports

    private func row(_ number: UInt64, _ section: String) -> ResultRow {
        ResultRow(number: number, sortKey: [UInt8(number)], section: section)
    }

    /// Returns a list in which object 1 is in section `a` and object 2 in section `b`.
    private func shown() -> ShownList {
        var shown = ShownList(isSectioned: true)
        let list = SectionedList(sectioned: true, rows: [row(1, "a"), row(2, "b")])
        let report = shown.show(
            list, changed: [:], isFullFetch: true, hasObserver: true, keepsOld: false)
        guard case .change? = report?.content else {
            Issue.record("the first list is reported")
            return shown
        }
        shown.position = start
        return shown
    }

    @Test func `a list that is fetched again and did not change is reported as unchanged`() {
        var shown = shown()
        let same = shown.list
        let report = shown.show(
            same, changed: [:], isFullFetch: true, hasObserver: true, keepsOld: false)
        guard case .unchanged? = report?.content else { return #expect(Bool(false)) }
        let unheard = shown.show(
            same, changed: [:], isFullFetch: true, hasObserver: false, keepsOld: false)
        #expect(unheard == nil)
    }

    @Test func `sections out of order fail once, and recover as one change`() {
        var shown = shown()
        var failed = ListEdits(upserted: [row(3, "a")])
        failed.reasons = [3: .ownValues]
        let failure = shown.apply(failed, keepsOld: false)
        guard case .failure(let error)? = failure?.content else { return #expect(Bool(false)) }
        #expect(error.code == .outOfOrderSection && shown.error == error)
        #expect(shown.visible.count == 2)

        let still = shown.apply(ListEdits(upserted: [row(4, "b")]), keepsOld: false)
        #expect(still == nil && shown.visible.count == 2)

        let recovery = shown.apply(ListEdits(removed: [3]), keepsOld: true)
        guard case .change(let change)? = recovery?.content else { return #expect(Bool(false)) }
        #expect(recovery?.isRecovery == true && recovery?.old?.count == 2)
        #expect(change.objects.map(\.number) == [4])
        #expect(shown.error == nil && shown.visible.count == 3)
    }

    @Test func `a fetched list out of order leaves the last one visible`() {
        var shown = shown()
        let wrong = SectionedList(
            sectioned: true, rows: [row(1, "a"), row(2, "b"), row(3, "a")])
        let failure = shown.show(
            wrong, changed: [3: .ownValues], isFullFetch: false, hasObserver: true, keepsOld: false)
        guard case .failure? = failure?.content else { return #expect(Bool(false)) }
        #expect(shown.visible.count == 2 && shown.list.outOfOrder != nil)
        let recovery = shown.apply(
            ListEdits(upserted: [row(3, "b")], reasons: [3: .sectionPath]), keepsOld: false)
        guard case .change(let change)? = recovery?.content else { return #expect(Bool(false)) }
        #expect(change.objects.map(\.number) == [3] && shown.visible.count == 3)
    }

    @Test func `a failure with the same code is reported once`() {
        var shown = shown()
        let error = TandemError(.schemaMismatch, "another model")
        #expect(shown.fail(error, keepsOld: false) != nil)
        #expect(shown.fail(error, keepsOld: false) == nil)
        // Another change recovers.
        let recovery = shown.apply(ListEdits(removed: [9]), keepsOld: false)
        #expect(recovery?.isRecovery == true && shown.error == nil)
    }
}
