extension SectionedList {
    /// The row of an object after all edits, also while something else is shown; nil when it isn't in them.
    public func currentRow(_ number: UInt64) -> ResultRow? {
        rows.row(of: number)
    }

    /// Whether an object is in the list after all edits, also while something else is shown; O(1).
    public func isCurrent(_ number: UInt64) -> Bool { rows.contains(number) }
}
