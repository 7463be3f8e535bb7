import TandemModel

/// An index in memory of the entities and times of transactions, by range of positions.
///
/// History requests use the index to skip ranges without an index on disk: the newest segment, and
/// segments whose index has not been built yet. Transactions are recorded when they become durable;
/// those of earlier runs of the daemon are recorded when they are read. The index only rules ranges
/// out. The journal remains the source of truth, and can also be read without an index.
///
/// Cost: a few hundred bytes for a range of 1,024 positions. If there are more than 1,024 ranges,
/// the oldest ones are discarded.
struct HistoryIndex {
    /// The maximum number of positions in a range.
    static let rangePositions: UInt64 = 1_024
    /// The maximum number of ranges.
    static let maximumRanges = 1_024
    private var ranges: [UInt64: HistoryRange] = [:]

    /// Records a transaction; does nothing unless it directly follows its range or begins a range.
    mutating func record(_ transaction: EncodedTransaction) {
        let number = Self.number(of: transaction.position)
        // A transaction before a known range restarts that range.
        if let known = ranges[number], transaction.position >= known.positions.lowerBound {
            ranges[number]?.record(transaction)
            return
        }
        if ranges.count >= Self.maximumRanges, let oldest = ranges.keys.min() {
            ranges[oldest] = nil
        }
        ranges[number] = HistoryRange(transaction)
    }

    /// Returns the last position of the range from `position` on that can't match a filter; nil if
    /// `position` itself may match.
    func end(ofSkippableFrom position: UInt64, _ filter: HistoryMatcher) -> UInt64? {
        guard let range = ranges[Self.number(of: position)],
            range.positions.contains(position), !filter.canMeet(range)
        else { return nil }
        return range.positions.upperBound
    }

    /// Returns the last position of the range that contains `position`.
    static func end(ofRangeWith position: UInt64) -> UInt64 {
        (number(of: position) + 1) * rangePositions
    }

    private static func number(of position: UInt64) -> UInt64 {
        (position - 1) / rangePositions
    }
}

/// A summary of the transactions at consecutive positions.
struct HistoryRange {
    /// The maximum number of entities; with more, the range can't be skipped.
    static let maximumEntities = 64
    /// The positions of the transactions.
    private(set) var positions: ClosedRange<UInt64>
    /// The entities that changed.
    private(set) var entities: [EntityTag] = []
    /// The times of the transactions, in microseconds since 1970.
    private(set) var times: ClosedRange<Int64>
    /// Whether the range can't be skipped, because it has a model, which every request receives, or
    /// too many entities.
    private(set) var isOpaque = false

    init(_ transaction: EncodedTransaction) {
        positions = transaction.position...transaction.position
        times = transaction.time...transaction.time
        add(transaction)
    }

    /// Records a transaction if it directly follows the last one.
    fileprivate mutating func record(_ transaction: EncodedTransaction) {
        guard transaction.position == positions.upperBound + 1 else { return }
        positions = positions.lowerBound...transaction.position
        times = min(times.lowerBound, transaction.time)...max(times.upperBound, transaction.time)
        add(transaction)
    }

    private mutating func add(_ transaction: EncodedTransaction) {
        if transaction.isModel { isOpaque = true }
        for chunk in transaction.chunks where !isOpaque && !entities.contains(chunk.tag) {
            if entities.count == Self.maximumEntities { isOpaque = true }
            entities.append(chunk.tag)
        }
        if isOpaque { entities = [] }
    }
}

extension HistoryMatcher {
    /// Returns false only if no transaction of the range matches.
    func canMeet(_ range: HistoryRange) -> Bool {
        if range.isOpaque { return true }
        if condition.isOfModels { return false }
        if let since = condition.since, range.times.upperBound < since { return false }
        if let until = condition.until, range.times.lowerBound >= until { return false }
        return canMeet(range.entities, changedIn: range.positions)
    }

    private func canMeet(_ tags: [EntityTag], changedIn positions: ClosedRange<UInt64>) -> Bool {
        if !entities.isEmpty, !tags.contains(where: entities.contains) { return false }
        if !objects.isEmpty, !objects.contains(where: { tags.contains($0.tag) }) { return false }
        // Transactions before the model have the slots of another model.
        guard !properties.isEmpty, positions.lowerBound > modelPosition else { return true }
        return tags.contains { properties[$0] != nil }
    }
}
