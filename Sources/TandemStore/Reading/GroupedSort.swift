import TandemModel
import TandemQuery

/// Puts what was found in order: the groups by the first parts of their keys, then each one's entries by the rest.
///
/// A list in sections of a hundred rows is sorted so by a few comparisons a row that look at two numbers, where a sort of whole keys would
/// compare what all rows of a section have in common again and again.
enum GroupedSort {
    typealias Entry = SortKeyArena.Entry

    /// Entries of the first so many groups, in order.
    static func sorted(
        _ entries: [Entry], groups count: Int, _ keys: GroupedKeys, _ arena: SortKeyArena
    ) -> [Entry] {
        guard !entries.isEmpty else { return [] }
        var counts = [Int](repeating: 0, count: count)
        for entry in entries { counts[Int(entry.group)] += 1 }
        let groups = (0..<UInt32(count)).sorted(by: keys.precedes)
        // Where the next entry of each group is put.
        var next = [Int](repeating: 0, count: count)
        var start = 0
        for group in groups {
            next[Int(group)] = start
            start += counts[Int(group)]
        }
        var sorted = entries
        for entry in entries {
            sorted[next[Int(entry.group)]] = entry
            next[Int(entry.group)] += 1
        }
        sorted.withUnsafeMutableBufferPointer { sorted in
            for (end, count) in zip(next, counts) {
                sorted[end - count..<end].sort(by: arena.precedesInGroup)
            }
        }
        return sorted
    }
}
