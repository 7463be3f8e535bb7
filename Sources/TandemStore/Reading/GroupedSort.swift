import TandemModel
import TandemQuery

/// Sorts matches by group: first the groups by prefix, then the entries within each group.
///
/// For a list with sections of a hundred rows, this takes only a few comparisons of two numbers per
/// row. Sorting by complete keys would compare each section's common prefix repeatedly.
enum GroupedSort {
    typealias Entry = SortKeyArena.SortEntry

    /// Returns the entries of the first `count` groups in order.
    ///
    /// Calls `check` periodically, and throws its errors.
    static func sorted(
        _ entries: [Entry], groups count: Int, _ keys: GroupedKeys, _ arena: SortKeyArena,
        _ check: () throws(StoreError) -> Void
    ) throws(StoreError) -> [Entry] {
        guard !entries.isEmpty else { return [] }
        var counts = [Int](repeating: 0, count: count)
        for entry in entries { counts[Int(entry.group)] += 1 }
        var sort = CheckedSort()
        var groups = Array(0..<UInt32(count))
        try sort.sort(&groups, by: { keys.precedes($0, $1) }, check)
        // The index of the next entry of each group.
        var next = [Int](repeating: 0, count: count)
        var start = 0
        for group in groups {
            next[Int(group)] = start
            start += counts[Int(group)]
        }
        assert(start == entries.count, "Each entry is in one of the groups.")
        var sorted = entries
        for entry in entries {
            sorted[next[Int(entry.group)]] = entry
            next[Int(entry.group)] += 1
        }
        try sorted.withUnsafeMutableBufferPointer { sorted throws(StoreError) in
            for (end, count) in zip(next, counts) {
                var group = UnsafeMutableBufferPointer(rebasing: sorted[end - count..<end])
                try sort.sort(&group, by: { arena.precedesInGroup($0, $1) }, check)
            }
        }
        return sorted
    }
}
