import TandemModel
import TandemQuery

/// Some rows of a request's entities from everywhere in the store, to tell what part of all rows something holds for.
///
/// They are the next ones behind numbers that lie as far apart as each other: so the same store gives the same rows.
struct RowSample {
    private let rows: [StoredObject]
    private let reader: StoreReader
    private let budget: ReadBudget

    /// So many rows at most.
    static let size = 64
    /// So many related objects at most are looked at for one question.
    private static let reads = 1_024

    /// Reads rows of the entities that a request looks at.
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
                // One that can't be read is somebody else's to tell of, if it is needed.
                if let stored = try? store.stored(object, at: entry.value) { rows.append(stored) }
            }
        }
        self.rows = rows
    }

    private static func number(_ entry: LMDBCursor.Entry) -> ObjectNumber {
        entry.key.count == 10 ? entry.key.bigEndian(2, as: UInt64.self) : 0
    }

    /// For what part of all rows something holds, never quite none and never more than all.
    func share(_ holds: (ObjectReference, Row, StoreReader) -> Bool) throws(StoreError) -> Double {
        guard !rows.isEmpty else { return 1 }
        let count = rows.count { holds($0.object, $0.row, reader) }
        // Of a part that was not met with nothing is known but that it is small.
        return max(Double(count), 0.25) / Double(rows.count)
    }
}

/// How much there is to look at.
extension StoreView {
    /// How many keys an access path looks at; nil where that can't be counted, and `most` for as many or more.
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

    /// How many rows a scan looks at, of which no more than `most` are counted.
    func countRows(of request: CompiledRequest, atMost most: Int) throws(StoreError) -> Int {
        var count = 0
        for tag in request.tags where count < most {
            let range = KeyRange(prefix: StoreKey.tag(tag))
            count += try self.count(tables.rows, range, atMost: most - count)
        }
        return count
    }

    /// About how many rows a scan looks at: counted where these are few, else by how close together the first ones are.
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
        return count
    }
}
