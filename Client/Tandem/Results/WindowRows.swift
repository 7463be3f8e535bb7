import Algorithms
import TandemModel
import TandemResults

/// The first rows of a result of which a window is shown: the rows up to an edge, or all rows.
///
/// All rows at or before the edge are held; rows after it are not known. The window is therefore
/// exact while it ends before the edge. Rows that leave the window cost no fetch until the rows
/// beyond it are used up.
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
    }

    /// Whether the result has no rows after the held ones.
    var isComplete: Bool { edge == nil }

    /// Returns the row with this number, or nil if it is not held.
    func row(_ number: ObjectNumber) -> ResultRow? { byNumber[number] }

    /// Removes and inserts rows; unmoved rows stay as they are.
    ///
    /// Cost: O(held rows) for each row, plus a binary search.
    mutating func apply(_ edits: ListEdits) {
        for number in edits.removed { remove(number) }
        for row in edits.upserted {
            remove(row.number)
            if let edge, edge.precedes(row) { continue }
            rows.insert(row, at: place(of: row))
            byNumber[row.number] = row
        }
    }

    /// Drops the rows after the first `count`, so that their number stays bounded; returns the
    /// dropped numbers.
    mutating func trim(to count: Int) -> [ObjectNumber] {
        guard rows.count > count, count > 0 else { return [] }
        let numbers = rows[count...].map(\.number)
        for number in numbers { byNumber[number] = nil }
        rows.removeSubrange(count...)
        edge = rows.last
        return numbers
    }

    /// Returns the shown rows.
    func window(offset: Int, limit: Int?) -> ArraySlice<ResultRow> {
        let start = rows.dropFirst(max(0, offset))
        return limit.map { start.prefix(max(0, $0)) } ?? start
    }

    private mutating func remove(_ number: ObjectNumber) {
        guard let row = byNumber.removeValue(forKey: number) else { return }
        rows.remove(at: place(of: row))
    }

    /// Returns the index of the first row that does not precede this one.
    private func place(of row: ResultRow) -> Int {
        rows.partitioningIndex { !$0.precedes(row) }
    }
}
