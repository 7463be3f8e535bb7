import TandemModel
import TandemQuery

/// Puts what was found in order: the groups by the first parts of their keys, then each one's entries by the rest.
///
/// A list in sections of a hundred rows is sorted so by a few comparisons a row that look at two numbers, where a sort of whole keys would
/// compare what all rows of a section have in common again and again.
enum GroupedSort {
    typealias Entry = SortKeyArena.Entry

    /// The number of entries in small groups that are sorted between two checks.
    private static let entriesBetweenChecks = 16_384

    /// The entries of the first `count` groups in order; calls `check` from time to time, and throws
    /// its errors.
    static func sorted(
        _ entries: [Entry], groups count: Int, _ keys: GroupedKeys, _ arena: SortKeyArena,
        _ check: () throws(StoreError) -> Void
    ) throws(StoreError) -> [Entry] {
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
        try sorted.withUnsafeMutableBufferPointer { sorted throws(StoreError) in
            var unchecked = 0
            for (end, count) in zip(next, counts) {
                try arena.sort(
                    UnsafeMutableBufferPointer(rebasing: sorted[end - count..<end]), check)
                unchecked += count
                guard unchecked > Self.entriesBetweenChecks else { continue }
                unchecked = 0
                try check()
            }
        }
        return sorted
    }
}
