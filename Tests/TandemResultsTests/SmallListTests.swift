import TestSupport
import Testing

@testable import TandemResults

/// Every edit of every list of up to five rows in up to three sections, checked by a table's rules
/// alone.
struct SmallListTests {
    @Test func `laws 4 and 5: every edit of one row of every small list`() {
        for (at, one) in SmallLists.singles().enumerated() { check(one, isReversed: at % 2 == 1) }
    }

    /// `TANDEM_EXHAUSTIVE` tests all pairs, which takes minutes.
    @Test func `laws 4 and 5: pairs of edits of every small list`() {
        let pairs = SmallLists.pairs(every: SmallLists.isExhaustive ? 1 : 131)
        for (at, one) in pairs.enumerated() { check(one, isReversed: at % 2 == 1) }
    }

    /// Applies the edits of a case and reverts them; if `isReversed` is set, ties are broken the
    /// other way round.
    private func check(_ one: SmallCase, isReversed: Bool) {
        func number(_ place: Int) -> UInt64 { UInt64(isReversed ? 50 - place : 50 + place) }
        var old: [UInt64: SmallRow] = [:]
        for (at, row) in one.rows.enumerated() { old[number(at)] = row }
        var new = old
        for (at, edit) in one.edits.enumerated() {
            switch edit {
            case .delete(let place): new[number(place)] = nil
            case .set(let place, let row): new[number(place)] = row
            case .insert(let row): new[isReversed ? UInt64(1 + at) : UInt64(90 + at)] = row
            }
        }
        var list = SectionedList(sectioned: true, rows: old.map(row))
        let first = problems(list.apply(edits(old, new)), list, from: old, to: new)
        #expect(first.isEmpty, "\(one)")
        let second = problems(list.apply(edits(new, old)), list, from: new, to: old)
        #expect(second.isEmpty, "\(one), reverted")
    }

    private func row(_ number: UInt64, _ row: SmallRow) -> ResultRow {
        ResultRow(number: number, sortKey: [UInt8(row.key)], section: row.section)
    }

    private func edits(_ old: [UInt64: SmallRow], _ new: [UInt64: SmallRow]) -> ListEdits {
        ListEdits(
            removed: old.keys.filter { new[$0] == nil },
            upserted: new.filter { old[$0.key] != $0.value }.map(row))
    }

    private func problems(
        _ outcome: ListOutcome, _ list: SectionedList, from old: [UInt64: SmallRow],
        to new: [UInt64: SmallRow]
    ) -> [String] {
        guard let expected = SmallLists.sections(new) else {
            if case .failed = outcome { return [] }
            return ["sections are out of order, but the outcome is no failure"]
        }
        // If the old list was out of order, the new one has been shown all along.
        var step = TableStep(old, new)
        if step == nil { step = TableStep(new, new) }
        if SmallLists.sections(old) == nil { step?.mayReport = Set(new.keys) }
        guard let step else { return ["there is no such step"] }
        var problems: [String] = []
        if list.table != expected { problems.append("it shows \(list.table), not \(expected)") }
        switch outcome {
        case .unchanged: return problems + step.problems(nil)
        case .failed(let problem): return problems + ["\(problem)"]
        case .changed(let change): return problems + step.problems(change.table)
        }
    }
}

extension SectionedList {
    /// The shown list in the form of a table.
    fileprivate var table: [TableSection] {
        sections.map { TableSection($0.name, numbers(in: $0.range)) }
    }
}

extension ResultsChange {
    /// The change in the form of a table's change.
    var table: TableChange {
        func place(_ path: ResultsIndexPath) -> TableChange.Path {
            TableChange.Path(path.section, path.item)
        }
        return TableChange(
            sections: sections.map { section in
                switch section {
                case .delete(let index, let name):
                    TableChange.Section(isInsert: false, index: index, name: name)
                case .insert(let index, let name):
                    TableChange.Section(isInsert: true, index: index, name: name)
                }
            },
            rows: objects.map { object in
                switch object {
                case .insert(let number, _, let to):
                    TableChange.Row(.insert, number, from: nil, to: place(to))
                case .delete(let number, _, let from):
                    TableChange.Row(.delete, number, from: place(from), to: nil)
                case .move(let number, _, let from, let to):
                    TableChange.Row(.move, number, from: place(from), to: place(to))
                case .update(let number, _, let from, let to):
                    TableChange.Row(.update, number, from: place(from), to: place(to))
                }
            })
    }
}
