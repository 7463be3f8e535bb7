import TandemJournal
import TandemModel

/// Which positions of a history need not be read: those that the indexes of sealed segments leave out, and behind these what
/// ``HistoryIndex`` remembers.
struct UnwantedHistory {
    private let filter: HistoryFilter
    private let walk: IndexWalk
    /// Not asked of the memory below it: what was unknown of a stretch stays so.
    private var unknown: UInt64
    /// Whether no index told of the position that was asked last, so that it is worth remembering.
    private(set) var isUnindexed = false

    /// What a filter does not want behind a position.
    init(_ filter: HistoryFilter, after position: UInt64, _ indexes: SegmentIndexes) {
        self.filter = filter
        walk = indexes.walk(filter.question(after: position))
        unknown = position
    }

    /// The last position of those from `position` on that surely don't meet the filter; nil if this one may.
    mutating func end(from position: UInt64, _ memory: HistoryIndex) -> UInt64? {
        if let wanted = walk.next(from: position) {
            isUnindexed = false
            unknown = wanted - 1
            return wanted > position ? wanted - 1 : nil
        }
        isUnindexed = true
        guard position > unknown else { return nil }
        guard let end = memory.end(ofUnwantedFrom: position, filter) else {
            unknown = HistoryIndex.end(ofStretchWith: position)
            return nil
        }
        unknown = end
        return end
    }
}
