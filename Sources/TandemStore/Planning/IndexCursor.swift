import TandemModel

/// An iterator over the entries of index ranges in a given order.
///
/// Each group of a descending level is found with one search, beginning at the end of the range.
/// Within the last level, entries are read in key order. The index must not change during the
/// iteration.
struct IndexCursor {
    private let order: IndexOrder
    private let cursor: LMDBCursor
    /// The remaining ranges in reverse order, the current one last.
    private var ranges: [KeyRange]
    /// The key of the last returned entry, at which the cursor is positioned; nil before the first
    /// entry of a range.
    private var last: [UInt8]?
    /// Whether the last returned entry is known to sort after all earlier entries of its range.
    private(set) var beginsGroup = false

    /// Creates an iterator before the first entry; the cursor must not be used elsewhere.
    init(_ ranges: [KeyRange], _ order: IndexOrder, _ cursor: LMDBCursor) {
        assert(
            ranges.count <= 1 || order.levels.isEmpty,
            "Several ranges are read in ascending order only.")
        (self.order, self.cursor) = (order, cursor)
        self.ranges = ranges.reversed()
    }

    /// Returns the next entry; nil at the end.
    mutating func next() throws(StoreError) -> LMDBCursor.Entry? {
        while let range = ranges.last {
            if let entry = try next(in: range) {
                let entry = try whole(entry)
                beginsGroup = beginsGroup(entry)
                last = Array(entry.key)
                return entry
            }
            ranges.removeLast()
            last = nil
        }
        return nil
    }

    private func next(in range: KeyRange) throws(StoreError) -> LMDBCursor.Entry? {
        guard let last else { return try first(of: range, from: 0, range) }
        return try entry(after: last, range)
    }

    private func beginsGroup(_ next: LMDBCursor.Entry) -> Bool {
        guard let last else { return false }
        return last.withUnsafeBytes { last in
            if order.settlesTies, !IndexComponents.isCut(last) { return true }
            let end = order.components.prefix(last, order.depth)
            return !next.key.starts(with: last[..<end])
        }
    }

    /// Returns the entry if its key is valid, otherwise throws: with an invalid key, the iteration
    /// might never end.
    private func whole(_ entry: LMDBCursor.Entry) throws(StoreError) -> LMDBCursor.Entry {
        guard order.components.isWhole(entry.key) else {
            throw StoreError(
                .damaged, "an index key of \(entry.key.count) bytes lacks components of its index")
        }
        return entry
    }

    /// Returns the first entry of a group in the requested order, found level by level from `level`
    /// on.
    private func first(
        of group: KeyRange, from level: Int, _ range: KeyRange
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
        after last: [UInt8], _ range: KeyRange
    ) throws(StoreError) -> LMDBCursor.Entry? {
        let deepest = order.levels.last.map { group(last, $0) } ?? range
        if let entry = try cursor.step(isBackwards: false),
            range.intersection(deepest).isBelowEnd(entry.key)
        {
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
            if let entry = try first(of: open, from: place, range) { return entry }
        }
        return nil
    }

    /// Returns the range of the keys with the same components as `key` up to a level.
    private func group(_ key: [UInt8], _ level: IndexOrder.Level) -> KeyRange {
        let end = key.withUnsafeBytes { order.components.prefix($0, level.depth) }
        return KeyRange(prefix: Array(key[..<end]))
    }
}
