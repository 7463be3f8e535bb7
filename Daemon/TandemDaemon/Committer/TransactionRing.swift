import TandemIO
import TandemModel

/// The newest transactions in memory, shared by all sessions at the tail; bounded in number and
/// bytes.
struct TransactionRing {
    /// The transactions from index `start` on; elements before it are nil until they are removed.
    private var transactions: [EncodedTransaction?] = []
    private var start = 0
    /// The bytes of the transactions in the ring.
    private(set) var bytes = 0
    /// The bytes of all transactions ever added.
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
    var count: Int { transactions.count - start }

    /// The number of elements that take memory.
    var stored: Int { transactions.count { $0 != nil } }

    /// The position of the oldest transaction in the ring, or nil if it is empty.
    var first: UInt64? { start < transactions.count ? transactions[start]?.position : nil }

    /// The position of the newest transaction in the ring, or nil if it is empty.
    var last: UInt64? { count > 0 ? transactions.last??.position : nil }

    /// Adds the next transaction, without its blobs, and drops the oldest ones beyond the limits.
    ///
    /// Returns the limit that was reached, if one was.
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
        while transactions.count - start > maximumCount
            || (bytes > maximumBytes && transactions.count - start > 1)
        {
            reached = transactions.count - start > maximumCount ? .ringTransactions : .ringBytes
            bytes -= transactions[start]?.bytes.count ?? 0
            transactions[start] = nil
            start += 1
        }
        if start > 1_024, start > transactions.count / 2 {
            transactions.removeFirst(start)
            start = 0
        }
        assert(
            count <= maximumCount && (bytes <= maximumBytes || count == 1),
            "The ring is within its limits, or has only the newest transaction.")
        assert(
            !Invariants.walk(transactions.count)
                || transactions.reduce(0) { $0 + ($1?.bytes.count ?? 0) } == bytes,
            "The bytes are those of the transactions in the ring.")
        return reached
    }

    /// Returns the transaction at a position, or nil if the ring does not have it.
    subscript(position: UInt64) -> EncodedTransaction? {
        guard let first, position >= first else { return nil }
        let index = start + Int(position - first)
        assert(
            index >= transactions.count || transactions[index]?.position == position,
            "The index of a transaction follows from its position.")
        return index < transactions.count ? transactions[index] : nil
    }
}
