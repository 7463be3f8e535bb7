import TandemModel

/// The most recent transactions of a connection, for contexts that have not merged them yet.
///
/// The ring is complete for the connection's interests after ``floor``. Older transactions have
/// to be requested as history.
struct TransactionRing: Sendable {
    /// The position after which every transaction of interest, up to the cursor, is in the ring.
    private(set) var floor: UInt64
    private var items: [Item] = []
    private var head = 0
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
    var count: Int { items.count - head }

    /// Appends a transaction; if a limit is exceeded, removes the oldest ones, but never this one.
    mutating func append(_ transaction: Transaction, bytes size: Int) {
        items.append(Item(transaction: transaction, bytes: size))
        bytes += size
        while count > 1, count > maximumCount || bytes > maximumBytes { dropFirst() }
        compact()
    }

    /// Removes all transactions up to a position.
    mutating func drop(through position: UInt64) {
        guard count > 0, items[head].transaction.position <= position else { return }
        while count > 0, items[head].transaction.position <= position { dropFirst() }
        compact()
    }

    private mutating func dropFirst() {
        floor = items[head].transaction.position
        bytes -= items[head].bytes
        items[head].transaction.content = .objects([])
        head += 1
    }

    private mutating func compact() {
        guard head == items.count || (head > 1_024 && head > items.count / 2) else { return }
        items.removeFirst(head)
        head = 0
    }

    /// Returns the transactions after `low` up to `high`, or nil if `low` is below the floor.
    func transactions(after low: UInt64, through high: UInt64) -> [Transaction]? {
        guard low >= floor else { return nil }
        let start = firstIndex(after: low)
        let end = firstIndex(after: max(low, high))
        return items[start..<end].map(\.transaction)
    }

    /// Removes everything; the ring continues after `floor`.
    mutating func restart(at floor: UInt64) {
        items.removeAll()
        head = 0
        bytes = 0
        self.floor = floor
    }

    private func firstIndex(after position: UInt64) -> Int {
        var low = head
        var high = items.count
        while low < high {
            let middle = (low + high) / 2
            if items[middle].transaction.position > position {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low
    }
}
