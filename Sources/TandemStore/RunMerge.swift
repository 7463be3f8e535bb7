/// Sorted runs that become one, some elements at a time.
///
/// The two oldest runs are merged into one, which becomes the newest, until there is but one. Cost in all:
/// a comparison for each element and each time that the number of runs can be halved.
package struct RunMerge<Element> {
    private let precedes: (Element, Element) -> Bool
    /// All runs but those that are being merged, the oldest first.
    private var runs: [[Element]] = []
    private var start = 0
    /// The two that are being merged, as far as they are left, and what was merged of them.
    private var left: ArraySlice<Element> = []
    private var right: ArraySlice<Element> = []
    private var merged: [Element] = []
    private var count = 0

    /// So many elements are merged for one of a budget: that much quicker it is than to judge a candidate.
    private static var elementsForOne: Int { 8 }

    /// No runs, of elements in a total order.
    package init(by precedes: @escaping (Element, Element) -> Bool) { self.precedes = precedes }

    /// Adds a sorted run.
    package mutating func add(_ run: [Element]) {
        guard !run.isEmpty else { return }
        runs.append(run)
        count += run.count
    }

    /// The bytes of the elements, without what they refer to; those that are being merged count twice.
    package var bytes: Int { (count + merged.capacity) * MemoryLayout<Element>.stride }

    /// The one run that ``step(_:)`` made of all.
    package var whole: [Element] { start < runs.count ? runs[start] : [] }

    /// Merges until there is one run or the budget is used up; true for the former.
    package mutating func step(_ budget: inout Int) -> Bool {
        while true {
            if left.isEmpty, right.isEmpty {
                endMerge()
                guard runs.count - start > 1 else { return true }
                beginMerge()
            }
            guard budget > 0 else { return false }
            budget -= 1
            for _ in 0..<Self.elementsForOne where !(left.isEmpty && right.isEmpty) { take() }
        }
    }

    private mutating func beginMerge() {
        left = runs[start][...]
        right = runs[start + 1][...]
        runs[start] = []
        runs[start + 1] = []
        start += 2
        merged.reserveCapacity(left.count + right.count)
    }

    private mutating func endMerge() {
        guard !merged.isEmpty else { return }
        runs.append(merged)
        merged = []
    }

    private mutating func take() {
        guard let first = left.first else { return merged.append(right.removeFirst()) }
        guard let second = right.first, precedes(second, first) else {
            return merged.append(left.removeFirst())
        }
        merged.append(right.removeFirst())
    }
}
