import Testing

@testable import TandemResults

/// Single cases of changes to a list, one test for each.
struct NamedCaseTests {
    /// Applies an edit to a list of rows and returns the change.
    func change(
        _ rows: [ResultRow], _ edits: ListEdits, sectioned: Bool = true
    ) throws -> ResultsChange {
        var list = SectionedList(sectioned: sectioned, rows: rows)
        let old = list.sectionIDs
        guard case .changed(let change) = list.apply(edits) else {
            throw ReplayError("no change")
        }
        #expect(try change.apply(to: old) == list.sectionIDs)
        return change
    }

    @Test
    func
        `law 5: a row marked as unmoved is updated in place, once, unless it is edited otherwise too`()
    {
        var list = SectionedList(
            sectioned: true, rows: [row(1, [1], "a"), row(2, [2], "a"), row(3, [3], "b")])
        let edits = ListEdits(
            removed: [3], upserted: [row(2, [0], "a")], unmoved: [1, 1, 2, 3, 9],
            reasons: [1: .ownValues])
        let expected = ResultsChange(
            sections: [.delete(index: 1, name: "b")],
            objects: [
                .delete(number: 3, tag: 3, from: path(1, 0)),
                .move(number: 2, tag: 2, from: path(0, 1), to: path(0, 0)),
                .update(number: 1, tag: 1, from: path(0, 0), to: path(0, 1)),
            ], reasons: [1: .ownValues])
        #expect(list.apply(edits) == .changed(expected))
        #expect(list.apply(ListEdits(unmoved: [3, 9])) == .unchanged)
    }

    @Test func `law 5: the first row moved into a new first section moves to its own path`() throws
    {
        let change = try change(
            [row(1, [5], "b"), row(2, [6], "b")], ListEdits(upserted: [row(1, [1], "a")]))
        #expect(change.sections == [.insert(index: 0, name: "a")])
        #expect(change.objects == [.move(number: 1, tag: 1, from: path(0, 0), to: path(0, 0))])
    }

    @Test func `law 5: if a section is replaced at the same index, its row moves to its own path`()
        throws
    {
        let change = try change(
            [row(1, [1], "a"), row(2, [2], "b"), row(3, [3], "c")],
            ListEdits(upserted: [row(3, [4], "d")]))
        #expect(change.sections == [.delete(index: 2, name: "c"), .insert(index: 2, name: "d")])
        #expect(change.objects == [.move(number: 3, tag: 3, from: path(2, 0), to: path(2, 0))])
    }

    @Test func `law 5: a section that becomes empty is deleted, and its row is one move`() throws {
        let change = try change(
            [row(1, [1], "a"), row(2, [2], "b")], ListEdits(upserted: [row(1, [3], "b")]))
        #expect(change.sections == [.delete(index: 0, name: "a")])
        #expect(change.objects == [.move(number: 1, tag: 1, from: path(0, 0), to: path(0, 1))])
    }

    @Test func `a renamed section is a delete and an insert with moves`() throws {
        let change = try change(
            [row(1, [1], "a"), row(2, [2], "a"), row(3, [3], "b")],
            ListEdits(upserted: [row(1, [1], "x"), row(2, [2], "x")]))
        #expect(change.sections == [.delete(index: 0, name: "a"), .insert(index: 0, name: "x")])
        #expect(change.objects.map(\.number) == [1, 2])
        #expect(change.reloaded == [1, 2])
    }

    @Test func `a section that passes another is rebuilt, and the other one stays`() throws {
        let change = try change(
            [row(1, [1], "a"), row(2, [2], "b"), row(3, [3], "b")],
            ListEdits(upserted: [row(1, [9], "a")]))
        #expect(change.sections == [.delete(index: 0, name: "a"), .insert(index: 1, name: "a")])
        #expect(change.objects == [.move(number: 1, tag: 1, from: path(0, 0), to: path(1, 0))])
    }

    @Test func `a sort key that does not move the row is an update`() throws {
        let change = try change(
            [row(1, [1]), row(2, [5]), row(3, [9])], ListEdits(upserted: [row(2, [6])]),
            sectioned: false)
        #expect(change.objects == [.update(number: 2, tag: 2, from: path(0, 1), to: path(0, 1))])
    }

    @Test func `an update has the new index of a row that its neighbours shifted`() throws {
        let change = try change(
            [row(1, [1]), row(2, [5])], ListEdits(removed: [1], upserted: [row(2, [5])]),
            sectioned: false)
        #expect(
            change.objects == [
                .delete(number: 1, tag: 1, from: path(0, 0)),
                .update(number: 2, tag: 2, from: path(0, 1), to: path(0, 0)),
            ])
    }

    @Test func `two rows that swap are one move and one update`() throws {
        let change = try change(
            [row(1, [1]), row(2, [2])], ListEdits(upserted: [row(1, [2]), row(2, [1])]),
            sectioned: false)
        #expect(change.objects.count == 2)
        #expect(change.objects.filter { if case .move = $0 { true } else { false } }.count == 1)
    }

    @Test func `ties are broken by number, and prefixes sort first`() {
        let list = SectionedList(
            sectioned: false,
            rows: [row(9, [1]), row(3, [1]), row(4, [1, 0]), row(5, []), row(6, [0, 255])])
        #expect(list.sectionIDs == [SectionIDs(name: "", numbers: [5, 6, 3, 9, 4])])
    }

    @Test
    func `a list without sections always has one section, and one with sections has no empty ones`()
        throws
    {
        var plain = SectionedList(sectioned: false)
        #expect(Array(plain.sections) == [ResultsSection(name: "", offset: 0, count: 0)])
        let outcome = plain.apply(ListEdits(upserted: [row(1, [1], "ignored")]))
        guard case .changed(let change) = outcome else { throw ReplayError("no change") }
        #expect(change.sections.isEmpty)
        #expect(plain.row(1)?.section == "")
        _ = plain.apply(ListEdits(removed: [1]))
        #expect(plain.sections.count == 1)
        #expect(SectionedList(sectioned: true).sections.isEmpty)
    }

    @Test func `edits without effect cause no change`() {
        var list = SectionedList(sectioned: true, rows: [row(1, [1], "a")])
        #expect(list.apply(ListEdits()) == .unchanged)
        #expect(list.apply(ListEdits(removed: [7, 8])) == .unchanged)
    }

    @Test func `contradictory edits have their net effect`() throws {
        let change = try change(
            [row(1, [1], "a"), row(2, [2], "a")],
            ListEdits(
                removed: [1, 2, 2], upserted: [row(1, [9], "z"), row(1, [1], "a")]))
        #expect(
            change.objects == [
                .delete(number: 2, tag: 2, from: path(0, 1)),
                .update(number: 1, tag: 1, from: path(0, 0), to: path(0, 0)),
            ])
        let list = SectionedList(sectioned: false, rows: [row(1, [1]), row(1, [2]), row(2, [0])])
        #expect(list.sectionIDs == [SectionIDs(name: "", numbers: [2, 1])])
        let same = SectionedList(sectioned: false, rows: [row(1, [1]), row(1, [1])])
        #expect(same.sectionIDs == [SectionIDs(name: "", numbers: [1])])
    }

    @Test func `a change has its reasons`() throws {
        let change = try change(
            [row(1, [1], "a"), row(2, [2], "a")],
            ListEdits(
                removed: [2], upserted: [row(1, [1], "a")],
                reasons: [1: [.ownValues, .refreshPath], 2: .predicatePath]))
        #expect(change.reasons == [1: [.ownValues, .refreshPath]])
    }

    @Test func `a failure keeps the last ordered list, and recovery is one change`() throws {
        let rows = [row(1, [1], "a"), row(2, [2], "b")]
        var list = SectionedList(sectioned: true, rows: rows)
        let problem = OutOfOrderSection(
            section: "a", interruptedBy: "b", number: 3, entityTag: 3)
        #expect(list.apply(ListEdits(upserted: [row(3, [3], "a")])) == .failed(problem))
        #expect(list.outOfOrder == problem)
        #expect(list.count == 2 && !list.contains(3))
        let late = ListEdits(upserted: [row(2, [2], "b")], reasons: [2: .ownValues])
        #expect(list.apply(late) == .failed(problem))
        guard case .changed(let change) = list.apply(ListEdits(upserted: [row(3, [0], "a")]))
        else { throw ReplayError("no recovery") }
        #expect(
            change.objects == [
                .insert(number: 3, tag: 3, to: path(0, 0)),
                .update(number: 2, tag: 2, from: path(1, 0), to: path(1, 0)),
            ])
        #expect(change.reasons == [2: .ownValues] || change.reasons == [2: .ownValues, 3: []])
        #expect(list.outOfOrder == nil && list.count == 3)
    }

    @Test func `a list that begins out of order is empty until it is in order`() {
        var list = SectionedList(
            sectioned: true, rows: [row(1, [1], "a"), row(2, [2], "b"), row(3, [3], "a")])
        #expect(list.outOfOrder?.number == 3)
        #expect(list.isEmpty && list.sections.isEmpty)
        guard case .changed(let change) = list.apply(ListEdits(removed: [3])) else {
            Issue.record("no recovery")
            return
        }
        #expect(change.objects.count == 2 && change.sections.count == 2)
    }
}
