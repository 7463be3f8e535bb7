import Algorithms
import TandemIO
import TandemModel
import TandemResults

/// The known rows of a list with a limit or an offset: the rows up to an edge, or all rows.
///
/// All rows at or before the edge are known; rows after the edge are unknown. The window, which is
/// the shown part, is therefore exact while it ends before the edge. A fetch is needed only after
/// removals have used up the known rows beyond the window.
struct WindowRows {
    /// All rows up to the edge, in order.
    private(set) var rows: [ResultRow]
    private var byNumber: [ObjectNumber: ResultRow]
    /// The last known row; nil if all rows are known.
    private var edge: ResultRow?

    /// Creates a collection from rows in any order; rows after the edge are ignored.
    init(_ rows: [ResultRow], edge: ResultRow?) {
        self.edge = edge
        self.rows = rows.filter { row in edge.map { !$0.precedes(row) } ?? true }
        self.rows.sort { $0.precedes($1) }
        byNumber = Dictionary(rows.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
        if byNumber.count != self.rows.count {
            byNumber = Dictionary(self.rows.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
        }
        checkInvariants()
    }

    /// Asserts that the rows are in order, none is after the edge, and all are in the table.
    private func checkInvariants() {
        assert(rows.count == byNumber.count, "Each row is known by its number.")
        guard Invariants.walk(rows.count) else { return }
        assert(
            !zip(rows, rows.dropFirst()).contains { !$0.precedes($1) }, "The rows are in order.")
        assert(
            edge.map { edge in !rows.contains { edge.precedes($0) } } ?? true,
            "No row is after the edge.")
        assert(rows.allSatisfy { byNumber[$0.number] != nil }, "The table has the rows.")
    }

    /// Whether the known rows include the last row of the result.
    var isComplete: Bool { edge == nil }

    /// Returns the row with this number, or nil if it is not known.
    func row(_ number: ObjectNumber) -> ResultRow? { byNumber[number] }

    /// Removes and inserts rows; unmoved rows stay as they are.
    ///
    /// Cost: O(known rows) for each row, plus a binary search.
    mutating func apply(_ edits: ListEdits) {
        for number in edits.removed { remove(number) }
        for row in edits.upserted {
            remove(row.number)
            if let edge, edge.precedes(row) { continue }
            rows.insert(row, at: place(of: row))
            byNumber[row.number] = row
        }
        checkInvariants()
    }

    /// Drops the rows after the first `count`, to bound their number; returns the dropped numbers.
    mutating func trim(to count: Int) -> [ObjectNumber] {
        guard rows.count > count, count > 0 else { return [] }
        let numbers = rows[count...].map(\.number)
        for number in numbers { byNumber[number] = nil }
        rows.removeSubrange(count...)
        edge = rows.last
        checkInvariants()
        return numbers
    }

    /// Returns the rows that a plan shows, as a list.
    func list(of plan: ResultsPlan) -> SectionedList {
        var shown = rows.dropFirst(max(0, plan.request.offset))
        if let limit = plan.request.limit { shown = shown.prefix(max(0, limit)) }
        return SectionedList(sectioned: plan.sectionKeyPath != nil, rows: Array(shown))
    }

    private mutating func remove(_ number: ObjectNumber) {
        guard let row = byNumber.removeValue(forKey: number) else { return }
        let removed = rows.remove(at: place(of: row))
        assert(removed.number == number, "A row is found by its order.")
    }

    /// Returns the index of the first row that does not precede `row`.
    private func place(of row: ResultRow) -> Int {
        rows.partitioningIndex { !$0.precedes(row) }
    }
}

/// The known rows of a list as shown, including rows outside the window.
///
/// This value holds copies of the list's state, so that reading a row needs no reference counting.
/// Release it before the list is changed; otherwise the change copies the list.
struct KnownRows {
    let window: WindowRows?
    let list: SectionedList

    /// Returns the row with this number, or nil if it is not known.
    func row(_ number: ObjectNumber) -> ResultRow? {
        if let window { return window.row(number) }
        return list.currentRow(number)
    }
}

/// The known rows of a list as stored, without edits, while the effect of a group is computed.
struct StoredRows {
    let overlay: EditOverlay
    let rows: KnownRows

    /// Returns whether an object is a row.
    func contains(_ number: ObjectNumber) -> Bool {
        if let entry = overlay.entries[number] { return entry.stored != nil }
        if let window = rows.window { return window.row(number) != nil }
        return rows.list.isCurrent(number)
    }

    /// Returns the reference of a row, or nil if there is no such row.
    func reference(_ number: ObjectNumber) -> ObjectReference? {
        overlay.stored(number, rows).map { ObjectReference(tag: $0.entityTag, number: number) }
    }

    /// Returns how a row's key and section differ from the key and section of the stored row, or
    /// nil if there is no stored row.
    func difference(of row: ResultRow) -> ChangeReason? {
        if overlay.entries[row.number] == nil, rows.window == nil {
            return rows.list.currentDifference(of: row)
        }
        return overlay.stored(row.number, rows).map { RowChangeCollector.difference($0, row) }
    }
}
