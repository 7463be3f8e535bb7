import TandemModel
import TandemResults

/// The first rows of a result of which a window is shown: those up to an edge, or all.
///
/// Whatever stands at or before the edge is held; what is behind it isn't known. So the window is exact as long as
/// it ends within what is held, and rows that leave it cost no fetch before the slack is used up.
struct HeldRows {
    /// All rows up to the edge, in order.
    private(set) var rows: [ResultRow]
    private var byNumber: [ObjectNumber: ResultRow]
    /// The last place that is known; nil when everything is.
    private var edge: ResultRow?

    /// Takes rows in any order; those behind the edge are left out.
    init(_ rows: [ResultRow], edge: ResultRow?) {
        self.edge = edge
        self.rows = rows.filter { row in edge.map { !$0.precedes(row) } ?? true }
        self.rows.sort { $0.precedes($1) }
        byNumber = Dictionary(rows.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
        if byNumber.count != self.rows.count {
            byNumber = Dictionary(self.rows.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
        }
    }

    /// Whether the result has no rows behind those held.
    var isComplete: Bool { edge == nil }

    /// The row of a number.
    func row(_ number: ObjectNumber) -> ResultRow? { byNumber[number] }

    /// Takes rows out and puts others in, unmoved ones stay as they are; O(held rows + log of them for each row).
    mutating func apply(_ edits: ListEdits) {
        for number in edits.removed { remove(number) }
        for row in edits.upserted {
            remove(row.number)
            if let edge, edge.precedes(row) { continue }
            rows.insert(row, at: place(of: row))
            byNumber[row.number] = row
        }
    }

    /// Gives up what is far behind the window, so that holding stays bounded; gives the numbers.
    mutating func trim(to count: Int) -> [ObjectNumber] {
        guard rows.count > count, count > 0 else { return [] }
        let numbers = rows[count...].map(\.number)
        for number in numbers { byNumber[number] = nil }
        rows.removeSubrange(count...)
        edge = rows.last
        return numbers
    }

    /// The rows that are shown.
    func window(offset: Int, limit: Int?) -> ArraySlice<ResultRow> {
        let start = rows.dropFirst(max(0, offset))
        return limit.map { start.prefix(max(0, $0)) } ?? start
    }

    private mutating func remove(_ number: ObjectNumber) {
        guard let row = byNumber.removeValue(forKey: number) else { return }
        rows.remove(at: place(of: row))
    }

    /// The first place whose row does not stand before this one.
    private func place(of row: ResultRow) -> Int {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].precedes(row) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
