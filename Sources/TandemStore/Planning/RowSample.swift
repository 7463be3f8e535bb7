import TandemModel
import TandemQuery

/// A sample of the rows of a request's entities, used to estimate the selectivity of plans.
///
/// The sample has the first row at or after each of several evenly spaced numbers, so the same
/// store always yields the same sample.
struct RowSample {
    private let rows: [StoredObject]
    private let reader: StoreReader
    private let budget: ReadBudget

    /// The intended number of rows.
    ///
    /// There are more if the request has more than 16 entities, because at least 4 rows are read
    /// for each.
    static let size = 64
    /// The maximum number of related objects read for one estimate.
    private static let reads = 1_024

    /// Reads a sample of rows of the request's entities.
    init(of request: CompiledRequest, _ store: StoreView) throws(StoreError) {
        budget = store.readBudget(ofRequest: Self.reads)
        reader = StoreReader(store, budget: budget)
        let cursor = try store.current.ownCursor(store.tables.rows)
        var rows: [StoredObject] = []
        for tag in request.tags {
            let range = KeyRange(prefix: StoreKey.tag(tag))
            guard let first = try cursor.first(in: range), let last = try cursor.last(in: range)
            else { continue }
            let (start, end) = (Self.number(first), Self.number(last))
            let steps = UInt64(max(4, Self.size / request.tags.count))
            var seen: ObjectNumber?
            for step in 0..<steps {
                let sought = start + (end - start) / steps * step
                let from = KeyRange(
                    lower: StoreKey.row(ObjectReference(tag: tag, number: sought)), upper: nil)
                guard let entry = try cursor.first(in: range.intersection(from)),
                    Self.number(entry) != seen
                else { continue }
                seen = Self.number(entry)
                let object = ObjectReference(tag: tag, number: Self.number(entry))
                // An unreadable row is skipped; if the fetch needs it, the fetch itself reports it.
                if let stored = try? store.stored(object, at: entry.value) { rows.append(stored) }
            }
        }
        self.rows = rows
    }

    private static func number(_ entry: LMDBCursor.Entry) -> ObjectNumber {
        entry.key.count == 10 ? entry.key.bigEndian(2, as: UInt64.self) : 0
    }

    /// Returns the share of all rows for which `holds` is true: more than 0 and at most 1.
    func share(_ holds: (ObjectReference, Row, StoreReader) -> Bool) throws(StoreError) -> Double {
        guard !rows.isEmpty else { return 1 }
        let count = rows.count { holds($0.object, $0.row, reader) }
        // If no row of the sample qualifies, the share is small but not known to be 0.
        let share = max(Double(count), 0.25) / Double(rows.count)
        assert(share > 0 && share <= 1, "A share is above 0 and at most 1.")
        return share
    }
}
