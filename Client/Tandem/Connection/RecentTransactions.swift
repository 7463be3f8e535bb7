import Algorithms
import DequeModule
import TandemModel

/// The most recent transactions of a connection, for contexts that have not merged them yet.
///
/// The ring is complete for the connection's interests after ``floor``. Older transactions have
/// to be requested as history.
struct RecentTransactions: Sendable {
    /// The position after which every transaction of interest, up to the cursor, is in the ring.
    private(set) var floor: UInt64
    private var items: Deque<Item> = []
    private var bytes = 0
    private let maximumCount: Int
    private let maximumBytes: Int

    private struct Item: Sendable {
        var transaction: Transaction
        var bytes: Int
    }

    init(floor: UInt64, maximumCount: Int, maximumBytes: Int) {
        self.floor = floor
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    /// The number of transactions held.
    var count: Int { items.count }

    /// Appends a transaction; if a limit is exceeded, removes the oldest transactions, but never
    /// the new one.
    mutating func append(_ transaction: Transaction, bytes size: Int) {
        assert(
            transaction.position > items.last?.transaction.position ?? floor,
            "Transactions are added in order, after the floor.")
        items.append(Item(transaction: transaction, bytes: size))
        bytes += size
        while count > 1, count > maximumCount || bytes > maximumBytes { dropFirst() }
    }

    /// Removes all transactions up to a position.
    mutating func drop(through position: UInt64) {
        while let first = items.first, first.transaction.position <= position { dropFirst() }
    }

    private mutating func dropFirst() {
        let item = items.removeFirst()
        assert(item.transaction.position > floor, "The floor only rises.")
        floor = item.transaction.position
        bytes -= item.bytes
        assert(bytes >= 0 && (!items.isEmpty || bytes == 0), "The size is that of the items.")
    }

    /// Returns the transactions after `low` up to `high`, or nil if `low` is below the floor.
    func transactions(after low: UInt64, through high: UInt64) -> [Transaction]? {
        guard low >= floor else { return nil }
        let start = firstIndex(after: low)
        let end = firstIndex(after: max(low, high))
        return items[start..<end].map(\.transaction)
    }

    /// Removes all transactions; the ring continues after `floor`.
    mutating func restart(at floor: UInt64) {
        items.removeAll()
        bytes = 0
        self.floor = floor
    }

    private func firstIndex(after position: UInt64) -> Int {
        items.partitioningIndex { $0.transaction.position > position }
    }
}
