import TandemJournal
import TandemModel

/// The positions that a history request can skip.
///
/// The indexes of sealed segments rule positions out; after the last index, ``HistoryIndex`` does.
struct SkippableHistory {
    private let filter: HistoryMatcher
    private let walk: IndexedPositions
    /// The position up to which `HistoryIndex` is not consulted again, because it had no
    /// information there.
    private var unknown: UInt64
    /// Whether no index covered the most recent position, so that recording its transaction is
    /// useful.
    private(set) var isUnindexed = false

    /// Creates the skippable positions of a filter after `position`.
    init(_ filter: HistoryMatcher, after position: UInt64, _ indexes: SegmentIndexes) {
        self.filter = filter
        walk = indexes.walk(filter.query(after: position))
        unknown = position
    }

    /// Returns the last position of the range from `position` on that can't match the filter; nil
    /// if `position` itself may match.
    mutating func end(from position: UInt64, _ memory: HistoryIndex) -> UInt64? {
        if let wanted = walk.next(from: position) {
            isUnindexed = false
            unknown = wanted - 1
            return wanted > position ? wanted - 1 : nil
        }
        isUnindexed = true
        guard position > unknown else { return nil }
        guard let end = memory.end(ofSkippableFrom: position, filter) else {
            unknown = HistoryIndex.end(ofRangeWith: position)
            return nil
        }
        unknown = end
        return end
    }
}
