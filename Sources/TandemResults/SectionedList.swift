import TandemModel

/// A sorted list of rows, divided into sections, that applies edits and returns the resulting
/// changes.
///
/// The order is by sort key, then number. A section's identity is its name, and no section is
/// empty. A list without sections has exactly one, named `""`, which may be empty.
///
/// Reading a row, finding a row by number and applying an edit cost a binary search and a sum over
/// one count per section and one per hundred rows. This takes microseconds in a list of a million
/// rows.
///
///     var list = SectionedList(sectioned: true, rows: fetched)
///     switch list.apply(ListEdits(removed: [3], upserted: [row])) {
///     case .changed(let change): deliver(change)
///     case .failed(let problem): report(problem)
///     case .unchanged: break
///     }
///
/// If a section name occurs again after another one, the list continues to show the last ordered
/// rows (none, if that happens in `init`), and `outOfOrder` describes the problem. Further edits
/// are still applied to the rows. The edit that restores the order returns one change from the
/// shown rows to the current ones.
///
/// | State | Means |
/// |---|---|
/// | `rows` | the rows after all edits |
/// | `shown` | the shown rows while `rows` are out of order, otherwise nil |
/// | `outOfOrder` | the problem; nil if and only if `shown` is nil |
/// | `pending` | the rows upserted since `shown` was set, with their reasons; empty if it is nil |
@usableFromInline package struct SectionedList: Sendable {
    var rows: RowStore
    var shown: RowStore?
    var pending: [UInt64: ChangeReason] = [:]

    /// The section that occurs again after another one; nil while the list is in order.
    package internal(set) var outOfOrder: OutOfOrderSection?

    /// Creates an empty list.
    package init(sectioned: Bool) {
        rows = RowStore(sectioned: sectioned)
    }

    /// Creates a list of rows in any order; cost: O(n) if they are sorted, otherwise O(n log n).
    ///
    /// If rows have the same number, the last one wins. Check `outOfOrder` afterwards, because a
    /// fetch whose sections are out of order has failed.
    package init(sectioned: Bool, rows: [ResultRow]) {
        self.rows = RowStore(sectioned: sectioned, rows: rows)
        outOfOrder = self.rows.firstDisorder()
        if outOfOrder != nil {
            shown = RowStore(sectioned: sectioned)
            let numbers = self.rows.sectionIDs.flatMap(\.numbers)
            pending = Dictionary(uniqueKeysWithValues: numbers.map { ($0, []) })
        }
        checkInvariants()
    }

    /// Asserts that all fields describe the same state; called after every change.
    func checkInvariants() {
        assert(
            (outOfOrder == nil) == (shown == nil),
            "Old rows are shown if and only if the list is out of order.")
        assert(
            shown != nil || pending.isEmpty, "Rows are pending only while old rows are shown.")
        rows.checkAllRows()
        assert(
            !Invariants.walk(rows.count) || (rows.firstDisorder() == nil) == (outOfOrder == nil),
            "The list is out of order if and only if its rows are.")
    }

    /// The shown rows.
    var visible: RowStore { shown ?? rows }

    /// Whether the list has sections.
    package var isSectioned: Bool { rows.isSectioned }

    /// The number of shown rows.
    package var count: Int { shown?.count ?? rows.count }

    /// Whether no row is shown.
    package var isEmpty: Bool { count == 0 }

    /// Returns whether the row of an object is shown; cost: O(1).
    package func contains(_ number: UInt64) -> Bool { visible.contains(number) }

    /// Returns the path of an object; nil if the list does not contain it.
    package func indexPath(of number: UInt64) -> ResultsIndexPath? { visible.path(of: number) }

    /// Returns the number of rows before an object; nil if the list does not contain it.
    package func offset(of number: UInt64) -> Int? {
        let rows = visible
        return rows.path(of: number).map { rows.offset(ofSection: $0.section) + $0.item }
    }

    /// Returns the row of an object; nil if the list does not contain it.
    package func row(_ number: UInt64) -> ResultRow? {
        visible.row(of: number)
    }

    /// Returns the row at a path, which must exist.
    package func row(at path: ResultsIndexPath) -> ResultRow {
        let rows = visible
        return rows.row(at: location(of: path, in: rows))
    }

    /// Returns the row at an offset in the whole list, which must exist.
    package func row(atOffset offset: Int) -> ResultRow { row(at: path(atOffset: offset)) }

    /// Returns the number of the object at a path, which must exist; cheaper than reading its row.
    package func number(at path: ResultsIndexPath) -> UInt64 { identity(at: path).number }

    /// Returns the number and entity tag of the object at a path, which must exist.
    package func identity(at path: ResultsIndexPath) -> (number: UInt64, tag: UInt16) {
        let rows = visible
        let place = location(of: path, in: rows)
        return rows.withLeaf(place.leaf) { ($0.number(place.at), $0.tag(place.at)) }
    }

    /// Returns the entity tag of an object; nil if the list does not contain it.
    package func entityTag(of number: UInt64) -> UInt16? {
        let rows = visible
        return rows.spot(of: number).map { spot in rows.withLeaf(spot.leaf) { $0.tag(spot.at) } }
    }

    /// Returns the path of the row at an offset in the whole list, which must exist.
    package func path(atOffset offset: Int) -> ResultsIndexPath {
        let rows = visible
        require(
            offset >= 0 && offset < rows.count,
            "Offset \(offset) is outside a list of \(rows.count) rows.")
        return rows.path(atOffset: offset)
    }

    private func location(of path: ResultsIndexPath, in rows: RowStore) -> RowStore.LeafLocation {
        require(
            path.section >= 0 && path.section < rows.sectionCount,
            "There is no section \(path.section) in a list of \(rows.sectionCount) sections.")
        require(
            path.item >= 0 && path.item < rows.count(ofSection: path.section),
            "There is no row at \(path).")
        return rows.location(section: path.section, item: path.item)
    }
}
