/// The place of a part of a change in the fixed order: deletes by source, then inserts, moves and updates by target.
///
/// It is one number of two words, so that sorting k parts, O(k log k), compares and moves these and not the parts.
struct ObjectRank: Comparable {
    /// The kind and the section.
    private let high: UInt64
    /// The item, which fewer than 2³² rows of a section leave room beside, and the place among those to be sorted.
    private let low: UInt64

    init(_ change: ResultsChange.ObjectChange, at index: Int) {
        let (kind, path): (UInt64, ResultsIndexPath) =
            switch change {
            case .delete(_, _, let path): (0, path)
            case .insert(_, _, let path): (1, path)
            case .move(_, _, _, let path): (2, path)
            case .update(_, _, _, let path): (3, path)
            }
        // What is no place at all, as in a change that nobody can replay, stands anywhere.
        high = kind << 62 | UInt64(truncatingIfNeeded: path.section) & (1 << 62 - 1)
        low = UInt64(truncatingIfNeeded: path.item) << 32 | UInt64(index)
    }

    @inline(__always)
    static func < (left: ObjectRank, right: ObjectRank) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }

    private var index: Int { Int(low & 0xFFFF_FFFF) }

    /// The parts in their fixed order; those of one rank stay as they are to each other.
    static func sorted(
        _ changes: [ResultsChange.ObjectChange]
    ) -> [ResultsChange.ObjectChange] {
        var ranks: [ObjectRank] = []
        ranks.reserveCapacity(changes.count)
        for at in changes.indices { ranks.append(ObjectRank(changes[at], at: at)) }
        ranks.sort()
        return ranks.map { changes[$0.index] }
    }
}
