import DequeModule
import TandemIO
import TandemModel

/// The newest transactions in memory, shared by all sessions at the tail; bounded in number and
/// bytes.
struct TransactionRing {
    private var transactions: Deque<EncodedTransaction> = []
    /// The size of the transactions in the ring, in bytes.
    private(set) var bytes = 0
    /// The size of all transactions ever added, in bytes.
    private(set) var addedBytes: UInt64 = 0
    private let maximumCount: Int
    private let maximumBytes: Int

    /// Creates an empty ring with these limits.
    init(
        transactions: Int = DaemonLimits().ringTransactions,
        bytes: Int = DaemonLimits().ringBytes
    ) {
        maximumCount = transactions
        maximumBytes = bytes
    }

    /// The number of transactions in the ring.
    var count: Int { transactions.count }

    /// The position of the oldest transaction in the ring, or nil if it is empty.
    var first: UInt64? { transactions.first?.position }

    /// The position of the newest transaction in the ring, or nil if it is empty.
    var last: UInt64? { transactions.last?.position }

    /// Adds the next transaction, without its blobs, and drops the oldest ones beyond the limits.
    ///
    /// Returns the limit that was reached, if any.
    @discardableResult
    mutating func append(_ transaction: EncodedTransaction) -> Limit? {
        assert(
            last.map { $0 + 1 == transaction.position } ?? true,
            "Transactions are added in order and without gaps.")
        var reached: Limit?
        // The ring's limit counts bytes, so the storage must have no spare capacity.
        let transaction = transaction.withoutBlobs.fitted
        transactions.append(transaction)
        bytes += transaction.bytes.count
        addedBytes += UInt64(transaction.bytes.count)
        while count > maximumCount || (bytes > maximumBytes && count > 1) {
            reached = count > maximumCount ? .ringTransactions : .ringBytes
            bytes -= transactions.removeFirst().bytes.count
        }
        assert(
            count <= maximumCount && (bytes <= maximumBytes || count == 1),
            "The ring is within its limits, or has only the newest transaction.")
        assert(
            !Invariants.walk(transactions.count)
                || transactions.reduce(0) { $0 + $1.bytes.count } == bytes,
            "The byte count matches the transactions in the ring.")
        return reached
    }

    /// Returns the transaction at a position, or nil if the ring does not have it.
    subscript(position: UInt64) -> EncodedTransaction? {
        guard let first, position >= first else { return nil }
        let index = position - first
        guard index < UInt64(count) else { return nil }
        let transaction = transactions[Int(index)]
        assert(
            transaction.position == position,
            "The index of a transaction follows from its position.")
        return transaction
    }
}
