import Algorithms

/// Returns flags that mark a longest increasing subsequence of distinct values; cost: O(n log n).
///
/// The choice among subsequences of the same length depends only on the relative order of the
/// values.
func longestIncreasing(_ values: [Int]) -> [Bool] {
    var kept = [Bool](repeating: false, count: values.count)
    if zip(values, values.dropFirst()).allSatisfy({ $0 < $1 }) {
        return kept.map { _ in true }
    }
    var tails: [Int] = []
    var previous = [Int](repeating: -1, count: values.count)
    for (at, value) in values.enumerated() {
        let length = tails.partitioningIndex { values[$0] >= value }
        if length > 0 { previous[at] = tails[length - 1] }
        if length == tails.count { tails.append(at) } else { tails[length] = at }
    }
    var at = tails.last ?? -1
    while at >= 0 {
        kept[at] = true
        assert(previous[at] < at, "A value is preceded by an earlier one.")
        at = previous[at]
    }
    assert(
        !Invariants.walk(kept.count) || kept.count { $0 } == tails.count,
        "A longest increasing subsequence is marked.")
    return kept
}

/// The old and the new index of an element that can stay or move.
struct MovablePair {
    var old: Int
    var new: Int
}

/// Returns which movable elements can stay in place between those that must stay.
///
/// `olds` are the old indexes of all removed or movable elements, `news` the new indexes of all new
/// or movable ones. All other elements stay, in order. A movable element can stay only if it is in
/// the same gap between them before and after the edit. In each gap, a longest ordered run of
/// such elements stays. Cost: O(k log k) for k elements, regardless of the list's length.
func stayingPairs(_ pairs: [MovablePair], olds: [Int], news: [Int]) -> [Bool] {
    assert(
        pairs.count <= min(olds.count, news.count), "A movable element has an index in each state.")
    if pairs.isEmpty { return [] }
    if pairs.count == 1 {
        let pair = pairs[0]
        let oldGap = pair.old - olds.count { $0 < pair.old }
        return [oldGap == pair.new - news.count { $0 < pair.new }]
    }
    let olds = olds.sorted()
    let news = news.sorted()
    let sorted = pairs.indices.sorted { pairs[$0].old < pairs[$1].old }
    let candidates = sorted.filter { at in
        let pair = pairs[at]
        let oldGap = pair.old - olds.partitioningIndex { $0 >= pair.old }
        let newGap = pair.new - news.partitioningIndex { $0 >= pair.new }
        return oldGap == newGap
    }
    return spread(candidates, of: pairs.count, in: candidates.map { pairs[$0].new })
}

/// Returns which elements of a sequence stay; `news` are their new indexes, in the old order.
///
/// The elements that are `mandatory` stay if they are in order; otherwise, a longest ordered run of
/// them stays. The other elements are chosen as in `stayingPairs`, with the same tie-breaking.
func stayingElements(_ news: [Int], mandatory: [Bool]) -> [Bool] {
    assert(news.count == mandatory.count, "There is a flag for each element.")
    let firm = news.indices.filter { mandatory[$0] }
    var stays = spread(firm, of: news.count, in: firm.map { news[$0] })
    let anchors = news.indices.filter { stays[$0] }.map { news[$0] }
    var gap = 0
    let candidates = news.indices.filter { at in
        if stays[at] { gap += 1 }
        return !mandatory[at] && anchors.partitioningIndex { $0 >= news[at] } == gap
    }
    for (at, kept) in zip(candidates, longestIncreasing(candidates.map { news[$0] })) where kept {
        stays[at] = true
    }
    return stays
}

/// Returns flags for `count` elements, set for the `candidates` in the longest ordered run.
private func spread(_ candidates: [Int], of count: Int, in values: [Int]) -> [Bool] {
    var flags = [Bool](repeating: false, count: count)
    for (at, kept) in zip(candidates, longestIncreasing(values)) where kept { flags[at] = true }
    return flags
}
