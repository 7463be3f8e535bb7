import Algorithms

/// An assignment of ranks to members of an ordered relationship that results in the requested
/// order.
///
/// A longest run of members that are already in order keeps its ranks, and the other members get
/// new ranks in between. If these would be long, neighbours get new ranks as well. The result
/// depends only on the members and their ranks.
///
///     let plan = RankPlan([(a, rankOfA), (c, nil), (b, rankOfB)])
///     plan.changed                                        // [c: a rank between the two]
package struct RankPlan: Sendable {
    /// A member and its current rank; nil if it has none yet.
    package typealias Member = (member: ObjectReference, rank: Rank?)

    /// The new ranks, by member.
    package private(set) var changed: [ObjectReference: Rank] = [:]
    private let members: [Member]
    /// For each index, whether the member keeps its rank.
    private var keeps: [Bool]

    /// Creates a plan for distinct members in the requested order.
    ///
    /// Cost: O(n log n), but little for members that are already in order.
    package init(_ members: [Member]) {
        self.members = members
        keeps = Self.longestRun(members)
        var start = 0
        while start < members.count {
            if keeps[start] {
                start += 1
            } else {
                start = assignRanks(from: start)
            }
        }
    }

    /// Assigns ranks to the run of unranked members that begins at `start`, and to neighbours if
    /// necessary.
    ///
    /// Returns the index after the run.
    private mutating func assignRanks(from start: Int) -> Int {
        var run = start..<(keeps[start...].firstIndex(of: true) ?? members.count)
        var neighbours = 1
        // Assigning new ranks to neighbours leaves room for many insertions, so it is rarely
        // needed.
        var limit = Rank.byteLimit / 2
        while true {
            let isWhole = run == members.indices
            if let ranks = ranks(of: run, limit: isWhole ? Rank.byteLimit : limit) {
                for (index, rank) in zip(run, ranks) {
                    keeps[index] = true
                    changed[members[index].member] = rank
                }
                return run.upperBound
            }
            // There are more ranks than a list can have members.
            precondition(!isWhole, "\(members.count) members are too many to be ranked.")
            run = widened(run, by: neighbours)
            neighbours *= 2
            limit = Rank.byteLimit / 4
        }
    }

    private func ranks(of run: Range<Int>, limit: Int) -> [Rank]? {
        let low = run.lowerBound > 0 ? rank(run.lowerBound - 1) : nil
        let high = run.upperBound < members.count ? rank(run.upperBound) : nil
        return Rank.between(low, high, count: run.count, limit: limit)
    }

    /// Returns the rank at an index as planned so far.
    private func rank(_ index: Int) -> Rank? {
        changed[members[index].member] ?? members[index].rank
    }

    /// Returns the run extended by neighbours on either side, and up to the next member that keeps
    /// its rank.
    private func widened(_ run: Range<Int>, by count: Int) -> Range<Int> {
        let low = max(0, run.lowerBound - count)
        let high = min(members.count, run.upperBound + count)
        return low..<(keeps[high...].firstIndex(of: true) ?? members.count)
    }

    /// Returns flags that mark a longest run of members in order.
    private static func longestRun(_ members: [Member]) -> [Bool] {
        var kept = [Bool](repeating: false, count: members.count)
        var tails: [Int] = []
        var previous = [Int](repeating: -1, count: members.count)
        for at in members.indices where members[at].rank != nil {
            let length = tails.partitioningIndex { !isBefore(members[$0], members[at]) }
            if length > 0 { previous[at] = tails[length - 1] }
            if length == tails.count { tails.append(at) } else { tails[length] = at }
        }
        var at = tails.last ?? -1
        while at >= 0 {
            kept[at] = true
            at = previous[at]
        }
        return kept
    }

    /// Returns whether `a` sorts before `b`: by rank, unranked members last, equal ranks by number.
    package static func isBefore(_ a: Member, _ b: Member) -> Bool {
        guard let first = a.rank, let second = b.rank, first != second else {
            if (a.rank == nil) != (b.rank == nil) { return b.rank == nil }
            return a.member.number < b.member.number
        }
        return first < second
    }
}
