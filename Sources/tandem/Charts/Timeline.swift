import Tandem

/// Counts of transactions over time, by entity and by author, for a chart.
///
/// The number of columns and names is bounded, regardless of the journal's length.
struct Timeline {
    /// The maximum number of names that are counted separately; a chart shows fewer.
    static let names = 64
    private typealias Counts = [Int64: Int]
    private(set) var grid: TimeGrid
    private(set) var span: TransactionSpan?
    private(set) var transactions = 0
    /// The number of transactions that belong to batches.
    private(set) var batches = 0
    private(set) var changes = 0
    /// The times from each transaction to the next.
    private(set) var gaps = Durations()
    private var total: Counts = [:]
    private var entities = Tally(limit: names, zero: Counts())
    private var authors = Tally(limit: names, zero: Counts())
    private var last: Int64?

    /// Creates an empty timeline for a chart with at most `columns` columns.
    init(columns: Int) { grid = TimeGrid(limit: columns) }

    /// Counts a transaction.
    mutating func add(_ entry: LogEntry) {
        let transaction = entry.transaction
        addTime(transaction.time)
        span.extend(by: transaction)
        transactions += 1
        if transaction.batch != nil { batches += 1 }
        changes += transaction.changes.count
        let column = grid.column(transaction.time)
        total[column, default: 0] += 1
        authors.update(transaction.principal.author.shownName) { $0[column, default: 0] += 1 }
        if entry.modelHash != nil { entities.update("(model)") { $0[column, default: 0] += 1 } }
        for changes in transaction.changes.runs(by: \.object.tag) {
            entities.update(entry.entityName(changes[changes.startIndex])) {
                $0[column, default: 0] += changes.count
            }
        }
    }

    private mutating func addTime(_ time: Int64) {
        let factor = grid.include(time)
        if factor > 1 {
            total = Self.merged(total, factor)
            entities.all { $0 = Self.merged($0, factor) }
            authors.all { $0 = Self.merged($0, factor) }
        }
        if let last {
            let (gap, isOut) = time.subtractingReportingOverflow(last)
            gaps.add(isOut ? (time > last ? .max : 0) : max(0, gap))
        }
        last = time
    }

    private static func merged(_ counts: Counts, _ factor: Int64) -> Counts {
        counts.reduce(into: [:]) { $0[TimeGrid.floor($1.key, factor), default: 0] += $1.value }
    }

    // MARK: Lanes

    /// A lane of a chart, with a count for each column.
    struct Lane: Equatable {
        var name: String
        var counts: [Int]
        var total: Int { counts.reduce(0, +) }
        /// The highest count.
        var most: Int { counts.max() ?? 0 }
    }

    /// Returns the columns to show; a short range is padded with empty columns on both sides.
    func shown(atLeast least: Int) -> ClosedRange<Int64>? {
        guard let columns = grid.columns else { return nil }
        let missing = max(0, Int64(least) - (columns.upperBound - columns.lowerBound + 1))
        return (columns.lowerBound - missing / 2)...(columns.upperBound + (missing + 1) / 2)
    }

    /// Returns the lane that counts all transactions.
    func all(in columns: ClosedRange<Int64>) -> Lane { Self.lane("all", total, columns) }

    /// Returns the lanes of the entities with the most changes.
    func entities(_ most: Int, in columns: ClosedRange<Int64>) -> [Lane] {
        Self.lanes(entities, most, columns)
    }

    /// Returns the lanes of the authors with the most transactions.
    func authors(_ most: Int, in columns: ClosedRange<Int64>) -> [Lane] {
        Self.lanes(authors, most, columns)
    }

    /// Returns at most `most` lanes, highest totals first; the last lane combines the remaining
    /// names.
    private static func lanes(
        _ tally: Tally<Counts>, _ most: Int, _ columns: ClosedRange<Int64>
    ) -> [Lane] {
        let sums = tally.named.mapValues { $0.values.reduce(0, +) }
        let order = sums.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.map(\.key)
        let isAll = order.count <= most && tally.others == nil
        let own = order.prefix(isAll ? most : most - 1)
        var lanes = own.map { lane($0, tally.named[$0] ?? [:], columns) }
        guard !isAll else { return lanes }
        let rest =
            order.dropFirst(own.count).compactMap { tally.named[$0] }
            + (tally.others.map { [$0] } ?? [])
        let sum = rest.reduce(into: Counts()) { $0.merge($1, uniquingKeysWith: +) }
        lanes.append(lane("(others)", sum, columns))
        return lanes
    }

    private static func lane(
        _ name: String, _ counts: Counts, _ columns: ClosedRange<Int64>
    ) -> Lane {
        Lane(name: name.printable, counts: columns.map { counts[$0] ?? 0 })
    }
}
