import TandemModel

/// The newest transactions in memory, shared by all sessions at the tail; bounded in number and bytes.
struct TransactionRing {
    /// What is held from `start` on; before that nil until room is made.
    private var transactions: [EncodedTransaction?] = []
    private var start = 0
    /// The bytes of what is held.
    private(set) var bytes = 0
    /// The bytes of all that was ever added.
    private(set) var addedBytes: UInt64 = 0
    private let maximumCount: Int
    private let maximumBytes: Int

    /// An empty ring of at most so many transactions and bytes.
    init(
        transactions: Int = DaemonLimits().ringTransactions,
        bytes: Int = DaemonLimits().ringBytes
    ) {
        maximumCount = transactions
        maximumBytes = bytes
    }

    /// How many transactions are held.
    var count: Int { transactions.count - start }

    /// How many transactions take memory.
    var stored: Int { transactions.count { $0 != nil } }

    /// The position of the oldest transaction held, or nil when none is.
    var first: UInt64? { start < transactions.count ? transactions[start]?.position : nil }

    /// Adds the next transaction, without its blobs, and drops the oldest ones beyond the limits.
    ///
    /// Returns the limit that was reached, if one was.
    @discardableResult
    mutating func append(_ transaction: EncodedTransaction) -> Limit? {
        var reached: Limit?
        // Its limit counts bytes, whatever storage these were encoded in.
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
        return reached
    }

    /// The transaction at a position, if it is held.
    subscript(position: UInt64) -> EncodedTransaction? {
        guard let first, position >= first else { return nil }
        let index = start + Int(position - first)
        return index < transactions.count ? transactions[index] : nil
    }
}
