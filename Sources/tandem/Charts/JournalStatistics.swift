import Tandem

/// The counts for one entity, author, property or size.
struct StatisticCounts: Equatable {
    var transactions = 0
    /// The number of transactions that belong to batches.
    var batches = 0
    var inserts = 0
    var updates = 0
    var deletes = 0
    /// The number of touched objects; their to-many relationships changed, but their rows did not.
    var touches = 0
    var bytes = 0

    var changes: Int { inserts + updates + deletes + touches }

    /// Counts a change.
    mutating func add(_ kind: Change.Kind) {
        switch kind {
        case .insert: inserts += 1
        case .update: updates += 1
        case .delete: deletes += 1
        case .touch: touches += 1
        }
    }

    mutating func add(_ other: StatisticCounts) {
        transactions += other.transactions
        batches += other.batches
        inserts += other.inserts
        updates += other.updates
        deletes += other.deletes
        touches += other.touches
        bytes += other.bytes
    }
}

/// The transactions in a range of the journal, counted by entity, author, property or size.
///
/// At most ``limit`` names are counted separately; further names are counted together.
struct JournalStatistics {
    /// The maximum number of names that are counted separately.
    static let limit = 4_096
    let statistic: Statistic
    private(set) var total = StatisticCounts()
    private(set) var span: TransactionSpan?
    private var tally = Tally(limit: limit, zero: StatisticCounts())

    init(by statistic: Statistic) { self.statistic = statistic }

    /// Counts a transaction.
    mutating func add(_ entry: LogEntry) {
        let transaction = entry.transaction
        var counts = StatisticCounts(transactions: 1, batches: transaction.batch == nil ? 0 : 1)
        for change in transaction.changes { counts.add(change.kind) }
        if statistic == .size || statistic == .author { counts.bytes = Self.bytes(transaction) }
        total.add(counts)
        span.extend(by: transaction)
        switch statistic {
        case .entity: addEntities(entry)
        case .author: tally.update(transaction.principal.author.shownName) { $0.add(counts) }
        case .property: addProperties(entry)
        case .size: tally.update(Self.size(counts.bytes)) { $0.add(counts) }
        }
    }

    /// Returns the size of a transaction as sent to subscribers, without long values.
    private static func bytes(_ transaction: Transaction) -> Int {
        var sent = transaction
        sent.blobs = []
        return sent.encoded().bytes.count
    }

    private mutating func addEntities(_ entry: LogEntry) {
        // Changes are ordered by entity, so the name is looked up once per run.
        for changes in entry.transaction.changes.runs(by: \.object.tag) {
            var counts = StatisticCounts(transactions: 1)
            for change in changes { counts.add(change.kind) }
            tally.update(entry.entityName(changes[changes.startIndex])) { $0.add(counts) }
        }
    }

    private mutating func addProperties(_ entry: LogEntry) {
        for changes in entry.transaction.changes.runs(by: \.object.tag) {
            guard let entity = changes.first.flatMap(entry.entity) else { continue }
            var slots: [Int: StatisticCounts] = [:]
            for change in changes {
                for slot in change.changed {
                    slots[slot, default: StatisticCounts(transactions: 1)].add(change.kind)
                }
            }
            for (slot, counts) in slots where entity.properties.indices.contains(slot) {
                tally.update("\(entity.name).\(entity.properties[slot].name)") { $0.add(counts) }
            }
        }
    }

    // MARK: Rows

    /// A row of the table.
    struct Row {
        /// The name as printed in the table.
        var name: String
        /// The largest transaction size, in bytes, that the row includes; nil unless the statistic
        /// is by size.
        var most: Int?
        var counts: StatisticCounts
    }

    /// The rows, by descending count; sizes are in ascending order without gaps.
    var rows: [Row] {
        if statistic == .size { return sizes }
        let rows = tally.named.map { Row(name: $0.key, counts: $0.value) }
            .sorted { (weight($0.counts), $1.name) > (weight($1.counts), $0.name) }
        return rows + (tally.others.map { [Row(name: "(others)", counts: $0)] } ?? [])
    }

    /// Returns the number that determines the length of a row's bar.
    func weight(_ counts: StatisticCounts) -> Int {
        switch statistic {
        case .author, .size: counts.transactions
        case .entity, .property: counts.changes
        }
    }

    private var sizes: [Row] {
        let powers = tally.named.keys.compactMap { Int($0) }
        guard let low = powers.min(), let high = powers.max() else { return [] }
        return (low...high).map { power in
            let counts = tally.named["\(power)"] ?? StatisticCounts()
            return Row(
                name: "up to \(Quantity.bytes(1 << power))", most: 1 << power, counts: counts)
        }
    }

    /// Returns the exponent of the smallest power of two that is at least the size.
    private static func size(_ bytes: Int) -> String {
        String(Int.bitWidth - max(0, bytes - 1).leadingZeroBitCount)
    }
}

extension LogEntry {
    /// Returns the name of the changed object's most derived entity.
    func entityName(_ change: Change) -> String {
        model?.entity(tagged: change.object.tag)?.name ?? "(unknown)"
    }
}

extension String {
    /// The name, or `(none)` if it is empty.
    var shownName: String { isEmpty ? "(none)" : self }
}

extension Array {
    /// Returns the runs of adjacent elements with the same key.
    func runs<Key: Equatable>(by key: (Element) -> Key) -> [ArraySlice<Element>] {
        var (runs, start): ([ArraySlice<Element>], Int) = ([], 0)
        for index in indices where index > start && key(self[index]) != key(self[start]) {
            runs.append(self[start..<index])
            start = index
        }
        return isEmpty ? [] : runs + [self[start...]]
    }
}
