import TandemModel
import TandemQuery

/// Puts what was found in order, some at a time: the groups by the first parts of their keys, then each one's entries by the rest.
///
/// A list in sections of a hundred rows is sorted so by a few comparisons a row that look at two numbers, where a sort of whole keys would
/// compare what all rows of a section have in common again and again.
///
/// State: up to `counted` entries are counted by group; `groups` puts these in order; then `next` says up to where entries were laid into
/// their groups, `group` up to which these are in order, and `large` is one of too many entries for one go.
struct GroupedSort {
    typealias Entry = SortKeyArena.Entry
    private let arena: SortKeyArena
    private let keys: GroupedKeys
    private var entries: [Entry]
    private var counts: [Int]
    private var groups: StepSort<Group>?
    /// In order, once that is known.
    private var ordered: [Group] = []
    /// Where the next entry of each group is laid.
    private var starts: [Int] = []
    private var sorted: [Entry] = []
    private var (counted, next, group) = (0, 0, 0)
    private var large: StepSort<Entry>?

    /// A group with the number of its entries and, once it is known, the place of the first.
    private struct Group {
        var id: UInt32
        var start = 0
        var count: Int
    }

    /// So many entries are laid, or sorted, for one of a budget.
    private static var laidForOne: Int { 16 }
    private static var sortedForOne: Int { 4 }
    /// More entries of one group than this are sorted in steps.
    private static var mostInOneGo: Int { 4_096 }

    /// Entries of the first so many groups.
    init(_ entries: [Entry], groups count: Int, _ keys: GroupedKeys, _ arena: SortKeyArena) {
        self.entries = entries
        self.keys = keys
        self.arena = arena
        counts = [Int](repeating: 0, count: count)
        sorted.reserveCapacity(entries.count)
    }

    /// The entries in order, when ``step(_:)`` returned true.
    var whole: [Entry] { sorted }

    /// Goes on until they are in order or the budget is used up; true for the former.
    mutating func step(_ budget: inout Int) -> Bool {
        guard !entries.isEmpty else { return true }
        if starts.isEmpty {
            guard count(&budget), groups?.step(&budget) ?? false else { return false }
            place()
        }
        lay(&budget)
        while budget > 0, group < ordered.count, next == entries.count {
            guard sortGroup(&budget) else { return false }
            group += 1
        }
        guard next == entries.count, group == ordered.count else { return false }
        entries = []
        return true
    }

    /// Counts each group's entries, and makes room for all by laying them as they come; true when that is done.
    private mutating func count(_ budget: inout Int) -> Bool {
        if groups != nil { return true }
        let end = end(of: counted, &budget)
        for entry in entries[counted..<end] { counts[Int(entry.group)] += 1 }
        sorted += entries[counted..<end]
        counted = end
        guard counted == entries.count else { return false }
        let all = counts.indices.map { Group(id: UInt32($0), count: counts[$0]) }
        groups = StepSort(all) { [keys] in keys.precedes($0.id, $1.id) }
        return true
    }

    /// How far entries are gone through from a place on, which is taken from the budget.
    private func end(of start: Int, _ budget: inout Int) -> Int {
        let left = entries.count - start
        // A budget may be as large as there are numbers.
        let end = start + min(left, min(max(0, budget), left) * Self.laidForOne)
        budget -= (end - start + Self.laidForOne - 1) / Self.laidForOne
        return end
    }

    /// Gives each group its place.
    private mutating func place() {
        ordered = groups?.whole ?? []
        starts = [Int](repeating: 0, count: ordered.count)
        var start = 0
        for at in ordered.indices {
            ordered[at].start = start
            starts[Int(ordered[at].id)] = start
            start += ordered[at].count
        }
    }

    /// Lays entries into their groups.
    private mutating func lay(_ budget: inout Int) {
        let end = end(of: next, &budget)
        for at in next..<end {
            let entry = entries[at]
            sorted[starts[Int(entry.group)]] = entry
            starts[Int(entry.group)] += 1
        }
        next = end
    }

    /// Puts the entries of a group in order; false when the budget is used up before.
    private mutating func sortGroup(_ budget: inout Int) -> Bool {
        let (start, count) = (ordered[group].start, ordered[group].count)
        if count <= Self.mostInOneGo {
            budget -= (count + Self.sortedForOne - 1) / Self.sortedForOne
            sorted.withUnsafeMutableBufferPointer { sorted in
                sorted[start..<start + count].sort(by: arena.precedesInGroup)
            }
            return true
        }
        var sort =
            large ?? StepSort(Array(sorted[start..<start + count]), by: arena.precedesInGroup)
        large = nil
        guard sort.step(&budget) else {
            large = sort
            return false
        }
        sorted.replaceSubrange(start..<start + count, with: sort.whole)
        return true
    }
}
