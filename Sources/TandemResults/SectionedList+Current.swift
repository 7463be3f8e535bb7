extension SectionedList {
    /// The row of an object after all edits, also while something else is shown; nil when it isn't in them.
    public func currentRow(_ number: UInt64) -> ResultRow? {
        rows.row(of: number)
    }

    /// How a row differs from the one of its object after all edits, by sort key and section; nil when there is none.
    ///
    /// Cost: the row that is there is compared where it lies.
    public func currentDifference(of row: ResultRow) -> ChangeReason? {
        guard let (leaf, at) = rows.spot(of: row.number) else { return nil }
        let slot = rows.withLeaf(leaf) { Int($0.section) }
        var reason: ChangeReason = []
        if rows.isSectioned, rows.sections[slot].name != row.section {
            reason.insert(.sectionPath)
        }
        let hasKey = row.sortKey.withUnsafeBytes { key in
            rows.withLeaf(leaf) { $0.hasKey(key, at: at) }
        }
        if !hasKey { reason.insert(.sortPath) }
        return reason
    }

    /// Whether an object is in the list after all edits, also while something else is shown; O(1).
    public func isCurrent(_ number: UInt64) -> Bool { rows.contains(number) }
}
