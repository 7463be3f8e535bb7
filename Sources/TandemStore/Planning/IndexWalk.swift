import TandemModel

/// Goes through ranges of an index in an order, one entry at a time.
///
/// It stands at a key, never at a cursor's place, so that the store may change between two entries: what is not touched comes once.
/// Groups of a descending level are looked up from behind, each with one search; within the last level entries come as they lie.
struct IndexWalk {
    private let order: IndexOrder
    /// What is yet to be walked, the next range last.
    private var ranges: [KeyRange]
    private var last: [UInt8]?

    /// A walk that has not begun.
    init(_ ranges: [KeyRange], _ order: IndexOrder) {
        self.order = order
        self.ranges = ranges.reversed()
    }

    /// Whether all that comes before the next entry in the request's order was given.
    func endsGroup(before next: LMDBCursor.Entry) -> Bool {
        guard let last else { return false }
        return last.withUnsafeBytes { last in
            if order.settlesTies, !IndexComponents.isCut(last) { return true }
            let end = order.components.prefix(last, order.depth)
            return !next.key.starts(with: last[..<end])
        }
    }

    /// Notes that an entry was taken.
    mutating func advance(to entry: LMDBCursor.Entry) { last = Array(entry.key) }

    /// The entry behind the last one that was taken; nil when there are no more.
    mutating func next(_ cursor: LMDBCursor) throws(StoreError) -> LMDBCursor.Entry? {
        while let range = ranges.last {
            if let last {
                if let entry = try entry(behind: last, range, cursor) { return try whole(entry) }
            } else if let entry = try first(of: range, from: 0, range, cursor) {
                return try whole(entry)
            }
            ranges.removeLast()
            last = nil
        }
        return nil
    }

    /// An entry whose key is as keys of the index are; with another one it would go round in circles.
    private func whole(_ entry: LMDBCursor.Entry) throws(StoreError) -> LMDBCursor.Entry {
        guard order.components.isWhole(entry.key) else {
            throw StoreError(
                .damaged, "a key of an index has \(entry.key.count) bytes and not its components")
        }
        return entry
    }

    /// The first entry of a group in the walk's order, whose levels from one on are open.
    private func first(
        of group: KeyRange, from level: Int, _ range: KeyRange, _ cursor: LMDBCursor
    ) throws(StoreError) -> LMDBCursor.Entry? {
        var group = group
        var entry: LMDBCursor.Entry?
        for level in order.levels[level...] {
            entry = try level.ascending ? cursor.first(in: group) : cursor.last(in: group)
            guard let key = try entry.map(whole)?.key else { return nil }
            group = range.intersection(self.group(Array(key), level))
        }
        return try cursor.first(in: group)
    }

    private func entry(
        behind last: [UInt8], _ range: KeyRange, _ cursor: LMDBCursor
    ) throws(StoreError) -> LMDBCursor.Entry? {
        let rest = KeyRange(lower: last + [0], upper: nil)
        let deepest = order.levels.last.map { group(last, $0) } ?? range
        if let entry = try cursor.first(in: range.intersection(deepest).intersection(rest)) {
            return entry
        }
        for place in order.levels.indices.reversed() {
            let level = order.levels[place]
            let around = place == 0 ? range : group(last, order.levels[place - 1])
            let own = group(last, level)
            let siblings =
                level.ascending
                ? KeyRange(lower: own.upper ?? own.lower, upper: nil)
                : KeyRange(lower: [], upper: own.lower)
            let open = range.intersection(around).intersection(siblings)
            if let entry = try first(of: open, from: place, range, cursor) { return entry }
        }
        return nil
    }

    /// The keys that share with one the components of a level.
    private func group(_ key: [UInt8], _ level: IndexOrder.Level) -> KeyRange {
        let end = key.withUnsafeBytes { order.components.prefix($0, level.depth) }
        return KeyRange(prefix: Array(key[..<end]))
    }
}
