extension SectionedList {
    /// Returns the row of an object after all edits, even if the sections are out of order; nil if
    /// there is none.
    package func currentRow(_ number: UInt64) -> ResultRow? {
        rows.row(of: number)
    }

    /// Returns the differences in sort key and section between a row and the current row of its
    /// object.
    ///
    /// The result is nil if there is no current row. The current row is compared without being
    /// copied.
    package func currentDifference(of row: ResultRow) -> ChangeReason? {
        guard let (leaf, at) = rows.spot(of: row.number) else { return nil }
        let slot = rows.withLeaf(leaf) { Int($0.section) }
        var reason: ChangeReason = []
        if rows.isSectioned, rows.name(of: slot) != row.section {
            reason.insert(.sectionPath)
        }
        let hasKey = row.sortKey.withUnsafeBytes { key in
            rows.withLeaf(leaf) { $0.hasKey(key, at: at) }
        }
        if !hasKey { reason.insert(.sortPath) }
        return reason
    }

    /// Returns whether an object is in the list after all edits, even if the sections are out of
    /// order; cost: O(1).
    package func isCurrent(_ number: UInt64) -> Bool { rows.contains(number) }
}
