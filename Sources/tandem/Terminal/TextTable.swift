/// Rows under headings, each column as wide as what is in it.
struct TextTable {
    let headings: [String]
    let rows: [[String]]
    private static let gap = 2

    /// The lines, without spaces at their ends; the last column may be of any width.
    var lines: [String] {
        let all = [headings] + rows
        let widths = headings.indices.dropLast().map { column in
            (all.map { $0[column].cells }.max() ?? 0) + Self.gap
        }
        return all.map { row in
            let cells = zip(row, widths).map { $0.left(inCells: $1) }
            return (cells.joined() + (row.last ?? "")).trimmed
        }
    }
}
