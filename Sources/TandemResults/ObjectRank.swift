/// The rank of an object's change in the order of ``ResultsChange``: deletes sorted by source path,
/// then inserts, moves and updates, each sorted by target path.
///
/// A rank has only two words, which makes sorting ranks faster than sorting whole changes.
struct ObjectRank: Comparable {
    /// The kind and the section.
    private let high: UInt64
    /// The row's index in its section, which is below 2³², and the index of the change.
    private let low: UInt64

    init(_ change: ResultsChange.ObjectChange, at index: Int) {
        let (kind, path): (UInt64, ResultsIndexPath) =
            switch change {
            case .delete(_, _, let path): (0, path)
            case .insert(_, _, let path): (1, path)
            case .move(_, _, _, let path): (2, path)
            case .update(_, _, _, let path): (3, path)
            }
        assert(index < 1 << 32, "The index fits into half a word.")
        // An invalid path, as in a change that can't be replayed, gets an arbitrary rank.
        high = kind << 62 | UInt64(truncatingIfNeeded: path.section) & (1 << 62 - 1)
        low = UInt64(truncatingIfNeeded: path.item) << 32 | UInt64(index)
    }

    @inline(__always)
    static func < (left: ObjectRank, right: ObjectRank) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }

    private var index: Int { Int(low & 0xFFFF_FFFF) }

    /// Returns the changes in their fixed order; equal ranks keep their order.
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
