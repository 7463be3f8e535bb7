import TandemModel

/// Which entities changed in stretches of the journal, and when, so that a question about others passes over them unread.
///
/// For what no index on the disk tells of: the newest segment, and one whose index is not made yet. It is learned from transactions
/// as they become durable and as they are read, for what was saved before the daemon began.
/// A stretch only ever says that nothing of it can be wanted: the journal alone is the truth, and without an index it is read.
///
/// Cost: some hundred bytes a stretch of 1,024 positions; of more than 1,024 stretches the oldest are forgotten.
struct HistoryIndex {
    /// Positions that are known together.
    static let stretchPositions: UInt64 = 1_024
    /// More stretches are not kept.
    static let maximumStretches = 1_024
    private var stretches: [UInt64: HistoryStretch] = [:]

    /// Takes note of a transaction; counts only next to those that are known already.
    mutating func note(_ transaction: EncodedTransaction) {
        let number = Self.number(of: transaction.position)
        // What lies before a stretch that is known begins it anew.
        if let known = stretches[number], transaction.position >= known.positions.lowerBound {
            stretches[number]?.note(transaction)
            return
        }
        if stretches.count >= Self.maximumStretches, let oldest = stretches.keys.min() {
            stretches[oldest] = nil
        }
        stretches[number] = HistoryStretch(transaction)
    }

    /// The last position of those from `position` on that surely don't meet a filter; nil if this one may.
    func end(ofUnwantedFrom position: UInt64, _ filter: HistoryFilter) -> UInt64? {
        guard let stretch = stretches[Self.number(of: position)],
            stretch.positions.contains(position), !filter.canMeet(stretch)
        else { return nil }
        return stretch.positions.upperBound
    }

    /// The last position that is known together with another.
    static func end(ofStretchWith position: UInt64) -> UInt64 {
        (number(of: position) + 1) * stretchPositions
    }

    private static func number(of position: UInt64) -> UInt64 {
        (position - 1) / stretchPositions
    }
}

/// What is known of positions that follow one another.
struct HistoryStretch {
    /// More entities are not told apart.
    static let maximumEntities = 64
    /// All these are known.
    private(set) var positions: ClosedRange<UInt64>
    /// The entities that changed.
    private(set) var entities: [EntityTag] = []
    /// The times of the transactions, microseconds since 1970.
    private(set) var times: ClosedRange<Int64>
    /// Whether anything may be wanted of it: a model is, whatever is asked, and of too many entities none is kept.
    private(set) var isOpaque = false

    init(_ transaction: EncodedTransaction) {
        positions = transaction.position...transaction.position
        times = transaction.time...transaction.time
        add(transaction)
    }

    /// Takes note of the transaction behind the last; another one changes nothing.
    fileprivate mutating func note(_ transaction: EncodedTransaction) {
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

extension HistoryFilter {
    /// Whether a transaction of a stretch may be given; false only where none is.
    func canMeet(_ stretch: HistoryStretch) -> Bool {
        if stretch.isOpaque { return true }
        if let since = condition.since, stretch.times.upperBound < since { return false }
        if let until = condition.until, stretch.times.lowerBound >= until { return false }
        return canMeet(stretch.entities, changedIn: stretch.positions)
    }

    private func canMeet(_ tags: [EntityTag], changedIn positions: ClosedRange<UInt64>) -> Bool {
        if !entities.isEmpty, !tags.contains(where: entities.contains) { return false }
        if !objects.isEmpty, !objects.contains(where: { tags.contains($0.tag) }) { return false }
        // Slots of transactions before the model say nothing.
        guard !properties.isEmpty, positions.lowerBound > modelPosition else { return true }
        return tags.contains { properties[$0] != nil }
    }
}
