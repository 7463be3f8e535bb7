import Tandem

/// Statistics as a table with bars, fitted to the width of a terminal.
struct StatisticsTable {
    let statistics: JournalStatistics
    /// The width of the terminal.
    let width: Int
    var style = Style()
    var clock: WallClock

    private static let gap = 2
    private static let widestName = 40
    /// The shortest useful bar, in cells.
    private static let shortestBar = 8

    /// The lines: a summary, the headings of the columns, and a line for each row.
    var lines: [String] {
        let rows = statistics.rows
        guard statistics.span != nil else { return [] }
        // There are no rows if all transactions install models.
        guard !rows.isEmpty else { return summary }
        let columns = columns(rows)
        let names = names(rows)
        let room = width - names.width - columns.reduce(0) { $0 + $1.width + Self.gap } - Self.gap
        let heading = names.heading.left(inCells: names.width) + numbers(columns, \.heading)
        let most = rows.map { statistics.weight($0.counts) }.max() ?? 0
        let body = rows.enumerated().map { index, row in
            let bar = bar(statistics.weight(row.counts), of: most, room)
            return names.cells[index].left(inCells: names.width)
                + numbers(columns) { $0.cells[index] }
                + (bar.isEmpty ? "" : "  " + style.paint(bar, .touch))
        }
        return summary + ["", style.paint(heading, .name)] + body
    }

    /// The totals, in one or two lines.
    private var summary: [String] {
        var clock = clock
        let total = statistics.total
        let batches = total.batches > 0 ? " (\(Quantity.count(total.batches)) by batches)" : ""
        var parts = [Quantity.count(total.transactions, "transaction") + batches]
        parts.append(Quantity.count(total.changes, "change"))
        if total.bytes > 0 { parts.append(Quantity.bytes(total.bytes)) }
        guard let span = statistics.span else { return [parts.joined(separator: ", ")] }
        return [parts.joined(separator: ", ") + ", \(span.positions)", span.times(&clock)]
    }

    // MARK: Columns

    private struct Column {
        var heading: String
        var cells: [String]
        var width: Int { ([heading] + cells).map(\.cells).max() ?? 0 }
    }

    private func names(_ rows: [JournalStatistics.Row]) -> (
        heading: String, cells: [String], width: Int
    ) {
        let widest = min(Self.widestName, max(8, width / 3))
        let column = Column(
            heading: statistics.statistic.rawValue.uppercased(),
            cells: rows.map { $0.name.printable.cut(toCells: widest) })
        return (column.heading, column.cells, column.width)
    }

    private func columns(_ rows: [JournalStatistics.Row]) -> [Column] {
        func column(_ heading: String, _ text: (StatisticCounts) -> String) -> Column {
            Column(heading: heading, cells: rows.map { text($0.counts) })
        }
        func count(_ heading: String, _ value: KeyPath<StatisticCounts, Int>) -> Column {
            column(heading) { Quantity.count($0[keyPath: value]) }
        }
        let bytes = column("BYTES") { Quantity.bytes($0.bytes) }
        let transactions = count("TRANSACTIONS", \.transactions)
        return switch statistics.statistic {
        case .author: [transactions, count("CHANGES", \.changes), bytes]
        case .size: [transactions, bytes]
        case .entity, .property:
            [
                count("CHANGES", \.changes), count("INSERTS", \.inserts),
                count("UPDATES", \.updates), count("DELETES", \.deletes),
                count("TOUCHES", \.touches),
            ]
        }
    }

    private func numbers(_ columns: [Column], _ text: (Column) -> String) -> String {
        columns.map { text($0).right(inCells: $0.width + Self.gap) }.joined()
    }

    private func bar(_ value: Int, of most: Int, _ room: Int) -> String {
        guard room >= Self.shortestBar, most > 0 else { return "" }
        return Bar.horizontal(Double(value) / Double(most), cells: room)
    }
}
