import TandemModel
import TandemQuery

/// Sorts matches by group: first the groups by prefix, then the entries within each group.
///
/// For a list with sections of a hundred rows, this takes only a few comparisons of two numbers per
/// row. Sorting by complete keys would compare each section's common prefix repeatedly.
enum GroupedSort {
    /// Sorts entries whose groups are those of `keys`.
    ///
    /// Calls `check` periodically, and throws its errors.
    static func sort(
        _ entries: inout [SortEntry], _ keys: GroupedKeys, _ records: SortKeyRecords,
        _ check: () throws(StoreError) -> Void
    ) throws(StoreError) {
        var sort = CheckedSort()
        let ends = try group(&entries, keys, &sort, check)
        try entries.withUnsafeMutableBufferPointer { entries throws(StoreError) in
            var start = 0
            for end in ends {
                var group = UnsafeMutableBufferPointer(rebasing: entries[start..<end])
                try records.sort(&group, &sort, check)
                start = end
            }
        }
    }

    /// Puts entries into the order of their groups; returns the end of each group in that order.
    private static func group(
        _ entries: inout [SortEntry], _ keys: GroupedKeys, _ sort: inout CheckedSort,
        _ check: () throws(StoreError) -> Void
    ) throws(StoreError) -> [Int] {
        guard keys.prefixes.count > 1 else { return [entries.count] }
        var groups = Array(keys.prefixes.indices)
        try sort.sort(&groups, by: { keys.precedes(UInt32($0), UInt32($1)) }, check)
        var counts = [Int](repeating: 0, count: groups.count)
        for entry in entries { counts[Int(entry.group)] += 1 }
        // The next index of each group.
        var (next, start) = (counts, 0)
        for group in groups {
            next[group] = start
            start += counts[group]
        }
        assert(start == entries.count, "Each entry is in one of the groups.")
        let found = entries
        for entry in found {
            entries[next[Int(entry.group)]] = entry
            next[Int(entry.group)] += 1
        }
        return groups.map { next[$0] }
    }
}
