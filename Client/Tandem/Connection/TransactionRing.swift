import TandemModel

/// The most recent transactions of a connection, for contexts that have not merged them yet.
///
/// Complete for the connection's interests from ``floor`` on; what fell out has to be asked for as history.
struct TransactionRing: Sendable {
    /// Every transaction of interest above this position and up to the cursor is in the ring.
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

    /// Appends a transaction; the oldest go when a limit is passed, but never this one.
    mutating func append(_ transaction: Transaction, bytes size: Int) {
        items.append(Item(transaction: transaction, bytes: size))
        bytes += size
        while count > 1, count > maximumCount || bytes > maximumBytes { dropFirst() }
        compact()
    }

    /// Lets go of what nobody needs any more: everything up to a position.
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

    /// The transactions above one position up to another; nil when they reach below the floor.
    func transactions(after low: UInt64, through high: UInt64) -> [Transaction]? {
        guard low >= floor else { return nil }
        let start = firstIndex(after: low)
        let end = firstIndex(after: max(low, high))
        return items[start..<end].map(\.transaction)
    }

    /// Forgets everything; the ring goes on after `floor`.
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
