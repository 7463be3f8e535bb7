/// Sorted runs that become one, some elements at a time.
///
/// The two oldest runs are merged into one, which becomes the newest, until there is but one. Cost in all:
/// a comparison for each element and each time that the number of runs can be halved.
package struct RunMerge<Element> {
    private let precedes: (Element, Element) -> Bool
    /// All runs but those that are being merged, the oldest first.
    private var runs: [[Element]] = []
    private var start = 0
    /// The two that are being merged, how far they are, and what was merged of them.
    private var (left, right): ([Element], [Element]) = ([], [])
    private var (leftAt, rightAt) = (0, 0)
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
            if isMerged {
                endMerge()
                guard runs.count - start > 1 else { return true }
                beginMerge()
            }
            guard budget > 0 else { return false }
            budget -= 1
            for _ in 0..<Self.elementsForOne where !isMerged { take() }
        }
    }

    private var isMerged: Bool { leftAt == left.count && rightAt == right.count }

    private mutating func beginMerge() {
        swap(&left, &runs[start])
        swap(&right, &runs[start + 1])
        start += 2
        merged.reserveCapacity(left.count + right.count)
    }

    private mutating func endMerge() {
        guard !merged.isEmpty else { return }
        runs.append(merged)
        (left, right, merged) = ([], [], [])
        (leftAt, rightAt) = (0, 0)
    }

    private mutating func take() {
        let isRight =
            leftAt == left.count
            || (rightAt < right.count && precedes(right[rightAt], left[leftAt]))
        if isRight {
            merged.append(right[rightAt])
            rightAt += 1
        } else {
            merged.append(left[leftAt])
            leftAt += 1
        }
    }
}
