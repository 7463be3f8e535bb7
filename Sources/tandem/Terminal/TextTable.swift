/// A plain-text table with headings; each column is as wide as its widest cell.
struct TextTable {
    let headings: [String]
    let rows: [[String]]
    private static let gap = 2

    /// The lines, without trailing spaces; the last column is not padded.
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
