import TandemModel
import TandemResults

/// All rows that match, and the part of them that is shown.
///
/// Without limit and offset the list itself is shown. With them all matching rows are held without sections, and the
/// window is cut out of them after each change: the list then equals a fresh fetch, rows pushed over the edge are deletes.
struct ResultsRows {
    private let limit: Int?
    private let offset: Int
    private let sectioned: Bool
    /// All rows that match; in order, and with sections where no window is cut.
    private var all: SectionedList
    /// The sections of all rows, where a window is cut.
    private var names: [ObjectNumber: String] = [:]
    /// What is shown of a window: the last one that could be shown.
    private var window: SectionedList?
    /// What changed since then, while a window can't be shown.
    private var owed: [ObjectNumber: ChangeReason] = [:]

    init(_ rows: [ResultRow], _ plan: ResultsPlan) {
        limit = plan.request.limit
        offset = max(0, plan.request.offset)
        sectioned = plan.sectionKeyPath != nil
        guard plan.isWindow else {
            all = SectionedList(sectioned: sectioned, rows: rows)
            return
        }
        all = SectionedList(sectioned: false, rows: rows)
        for row in rows { names[row.number] = row.section }
        window = cut()
    }

    /// What is shown.
    var shown: SectionedList { window ?? all }

    /// The row of a number, shown or not.
    func row(_ number: ObjectNumber) -> ResultRow? {
        guard var row = all.currentRow(number) else { return nil }
        if window != nil { row.section = names[number] ?? "" }
        return row
    }

    /// Takes edits in; says what that did to what is shown.
    mutating func apply(_ edits: ListEdits) -> ListOutcome {
        guard let before = window else { return all.apply(edits) }
        _ = all.apply(edits)
        for number in edits.removed { names[number] = nil }
        for row in edits.upserted { names[row.number] = row.section }
        owed.merge(edits.reasons) { $0.union($1) }
        let after = cut()
        if let problem = after.outOfOrder { return .failed(problem) }
        window = after
        defer { owed.removeAll() }
        return ResultsRows.outcome(after.change(from: before, changed: owed))
    }

    private static func outcome(_ change: ResultsChange?) -> ListOutcome {
        guard let change, !change.isEmpty else { return .unchanged }
        return .changed(change)
    }

    private func cut() -> SectionedList {
        let start = min(offset, all.count)
        let end = limit.map { min(all.count, start + max(0, $0)) } ?? all.count
        let rows = (start..<end).map { place -> ResultRow in
            var row = all.row(atOffset: place)
            row.section = names[row.number] ?? ""
            return row
        }
        return SectionedList(sectioned: sectioned, rows: rows)
    }
}
