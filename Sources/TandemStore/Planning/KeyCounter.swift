import TandemModel
import TandemQuery

/// Counts the keys and rows that a plan would read, up to a limit.
struct KeyCounter {
    private let store: StoreView

    /// Creates a counter of a view's keys.
    init(_ store: StoreView) { self.store = store }

    /// Returns the number of keys of an access path, at most `most`; nil if they can't be counted.
    func keys(of access: AccessPath, atMost most: Int) throws(StoreError) -> Int? {
        switch access {
        case .scan, .related: return nil
        case .unique(let unique): return min(unique.keys.count, most)
        case .holders(let member):
            guard let inverse = store.model.flatMap(member.inverse), inverse.toMany else {
                return 1
            }
            let range = KeyRange(prefix: StoreKey.links(inverse.linkID, of: member.object.number))
            return try store.count(store.tables.links, in: range, atMost: most)
        case .union(let parts):
            var count = 0
            for part in parts where count < most {
                guard let keys = try keys(of: part, atMost: most - count) else { return nil }
                count += keys
            }
            return count
        case .members, .index:
            guard let (table, ranges) = access.keys else { return nil }
            var count = 0
            for range in ranges where count < most {
                count += try store.count(store.tables[table], in: range, atMost: most - count)
            }
            return count
        }
    }

    /// Returns the number of rows of a scan, at most `most`.
    func countRows(of request: CompiledRequest, atMost most: Int) throws(StoreError) -> Int {
        var count = 0
        for tag in request.tags where count < most {
            let range = KeyRange(prefix: StoreKey.tag(tag))
            count += try store.count(store.tables.rows, in: range, atMost: most - count)
        }
        return count
    }

    /// Returns the approximate number of rows of a scan.
    ///
    /// A small number is counted; a large one is extrapolated from the density of the first
    /// numbers.
    func estimatedRows(of request: CompiledRequest) throws(StoreError) -> Double {
        var sum = 0.0
        let cursor = try store.current.ownCursor(store.tables.rows)
        for tag in request.tags {
            let range = KeyRange(prefix: StoreKey.tag(tag))
            var (first, last, count) = (ObjectNumber(0), ObjectNumber(0), 0)
            try store.current.scan(store.tables.rows, prefix: range.lower) { key, _ in
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
        return min(sum, Double(try store.current.count(store.tables.rows)))
    }
}
