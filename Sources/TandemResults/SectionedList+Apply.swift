extension SectionedList {
    /// Applies one merged change and returns its effect on the shown rows.
    ///
    /// While sections are out of order, every edit with an effect results in `failed`. The edit
    /// that restores the order results in `changed`, or in `unchanged` if the rows are those shown;
    /// check `outOfOrder` in that case. Cost: O(k log n) for k edited rows, and O(n) if the
    /// sections get out of order or back in order.
    package mutating func apply(_ edits: ListEdits) -> ListOutcome {
        defer { checkInvariants() }
        let edit = NetEdits(edits)
        if edit.count == 0 { return .unchanged }
        if shown != nil { return applyOutOfOrder(edit.held(by: rows), edits.reasons) }
        var step = ListStep(edit, on: &rows)
        if step.marks.isEmpty { return .unchanged }
        step.recordAfter(&rows)
        if !step.widened.isEmpty, let problem = rows.firstDisorder(among: step.widened) {
            return fail(problem, step, edit.held(by: rows), edits.reasons)
        }
        let change = step.change(edits.reasons, rows)
        rows.forgetEmptySections()
        return .changed(change)
    }

    private mutating func fail(
        _ problem: OutOfOrderSection, _ step: ListStep, _ edit: NetEdits,
        _ reasons: [UInt64: ChangeReason]
    ) -> ListOutcome {
        var good = rows
        step.undo(on: &good)
        rows.forgetEmptySections()
        shown = good
        outOfOrder = problem
        record(edit, reasons)
        return .failed(problem)
    }

    private mutating func applyOutOfOrder(
        _ edit: NetEdits, _ reasons: [UInt64: ChangeReason]
    ) -> ListOutcome {
        if edit.count == 0 { return .unchanged }
        _ = ListStep(edit, on: &rows)
        rows.forgetEmptySections()
        record(edit, reasons)
        outOfOrder = rows.firstDisorder()
        if let outOfOrder { return .failed(outOfOrder) }
        let old = visible
        let changed = pending
        shown = nil
        pending = [:]
        let change = ResultsChange.between(old, rows, changed: changed)
        return change.map(ListOutcome.changed) ?? .unchanged
    }

    private mutating func record(_ edit: NetEdits, _ reasons: [UInt64: ChangeReason]) {
        for row in edit.upserted {
            pending[row.number, default: []].formUnion(reasons[row.number] ?? [])
        }
        for number in edit.unmoved {
            pending[number, default: []].formUnion(reasons[number] ?? [])
        }
    }

    /// Returns the change from another list to this one, as after a refetch; nil if there is none.
    ///
    /// Rows in `changed` that are in both lists are reported once. All other rows are reported only
    /// if they were inserted or deleted, or are no longer in order with each other. Cost:
    /// O(n log n) at worst, O(n) usually.
    package func change(
        from old: SectionedList, changed: [UInt64: ChangeReason] = [:]
    ) -> ResultsChange? {
        ResultsChange.between(old.visible, visible, changed: changed)
    }
}

extension ResultsChange {
    /// Returns the difference between two stores.
    ///
    /// A changed row with the same key and section is handled like an unchanged row. It is reported
    /// as moved only if it or its section is out of order with the other rows that are not movable.
    static func between(
        _ old: RowStore, _ new: RowStore, changed: [UInt64: ChangeReason]
    ) -> ResultsChange? {
        let pinned = changed.keys.filter { number in
            guard let was = old.location(of: number), let place = new.location(of: number) else {
                return false
            }
            return new.holds(old.row(at: was), at: place)
        }
        func tag(_ number: UInt64) -> UInt16 {
            if let place = new.location(of: number) {
                return new.tag(at: place)
            }
            return old.location(of: number).map { old.tag(at: $0) } ?? 0
        }
        return between(
            old: old.sectionIDs, new: new.sectionIDs, changed: Set(changed.keys),
            pinned: Set(pinned), reasons: changed, tag: tag)
    }
}
