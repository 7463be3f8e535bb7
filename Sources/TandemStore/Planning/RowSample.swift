import TandemModel
import TandemQuery

/// A sample of rows of a request's entities from all over the store, used to estimate shares of all
/// rows.
///
/// The rows are the first ones after evenly spaced numbers, so the same store gives the same rows.
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

    /// Reads rows of the request's entities.
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
        // If no row of the sample qualifies, the share is only known to be small.
        let share = max(Double(count), 0.25) / Double(rows.count)
        assert(share > 0 && share <= 1, "A share is never zero, and at most that of all rows.")
        return share
    }
}

/// Counting keys and rows.
extension StoreView {
    /// Returns the number of keys of an access path, at most `most`; nil if they can't be counted.
    func keys(of access: AccessPath, atMost most: Int) throws(StoreError) -> Int? {
        switch access {
        case .scan, .related: return nil
        case .unique(let unique): return min(unique.keys.count, most)
        case .holders(let member):
            guard let inverse = model.flatMap(member.inverse), inverse.toMany else { return 1 }
            let range = KeyRange(prefix: StoreKey.links(inverse.linkID, of: member.object.number))
            return try count(tables.links, range, atMost: most)
        case .union(let parts):
            var count = 0
            for part in parts where count < most {
                guard let keys = try keys(of: part, atMost: most - count) else { return nil }
                count += keys
            }
            return count
        case .members(let owner, let link, _):
            let range = KeyRange(prefix: StoreKey.links(link, of: owner.number))
            return try count(tables.links, range, atMost: most)
        case .index(_, let ranges):
            var count = 0
            for range in ranges where count < most {
                count += try self.count(tables.indexes, range, atMost: most - count)
            }
            return count
        }
    }

    /// Returns the number of rows of a scan, at most `most`.
    func countRows(of request: CompiledRequest, atMost most: Int) throws(StoreError) -> Int {
        var count = 0
        for tag in request.tags where count < most {
            let range = KeyRange(prefix: StoreKey.tag(tag))
            count += try self.count(tables.rows, range, atMost: most - count)
        }
        return count
    }

    /// Returns the approximate number of rows of a scan: few rows are counted, many are
    /// extrapolated from the density of the first ones.
    func estimatedRows(of request: CompiledRequest) throws(StoreError) -> Double {
        var sum = 0.0
        let cursor = try current.ownCursor(tables.rows)
        for tag in request.tags {
            let range = KeyRange(prefix: StoreKey.tag(tag))
            var (first, last, count) = (ObjectNumber(0), ObjectNumber(0), 0)
            try current.scan(tables.rows, prefix: range.lower) { key, _ in
                last = key.count == 8 ? key.bigEndian(0, as: UInt64.self) : last
                if count == 0 { first = last }
                count += 1
                return count < FetchPlanner.mostCounted
            }
            guard count == FetchPlanner.mostCounted, last > first,
                let end = try cursor.last(in: range), end.key.count == 10
            else {
                sum += Double(count)
                continue
            }
            let whole = Double(end.key.bigEndian(2, as: UInt64.self) - first)
            sum += Double(count) * whole / Double(last - first)
        }
        return min(sum, Double(try current.count(tables.rows)))
    }

    private func count(
        _ table: LMDBTable, _ range: KeyRange, atMost most: Int
    ) throws(StoreError) -> Int {
        guard most > 0, !range.isEmpty else { return 0 }
        var count = 0
        try current.scan(table, from: range.lower) { key, _ in
            guard range.isBelowEnd(key) else { return false }
            count += 1
            return count < most
        }
        assert(count <= most, "No more keys are counted than was asked for.")
        return count
    }
}
