import TandemJournal
import TandemModel

/// The batch being built: transactions that the store has applied and the journal lacks.
struct OpenBatch {
    private var frames = BatchBuilder(capacity: 1 << 16)
    /// The transactions in the batch, by position.
    private(set) var transactions: [EncodedTransaction] = []

    var isEmpty: Bool { transactions.isEmpty }
    var count: Int { transactions.count }

    /// The size of the batch in the journal, in bytes.
    var frameBytes: Int { frames.frameBytes }

    /// Adds the next transaction, which the store has applied.
    mutating func append(_ transaction: EncodedTransaction) {
        assert(
            transactions.last.map { $0.position + 1 == transaction.position } ?? true,
            "The transactions of a batch have consecutive positions.")
        frames.append(transaction.bytes)
        transactions.append(transaction)
        assert(frames.count == count, "Each planned transaction has a frame.")
    }

    /// Writes the batch to the journal after a position, and flushes it; the batch stays open.
    mutating func write(
        to journal: Journal, after position: UInt64
    ) throws(JournalError) -> AppendOutcome {
        assert(
            transactions.first.map { $0.position == position + 1 } ?? true,
            "The batch continues the journal.")
        return try journal.append(expected: position, batch: &frames)
    }

    /// Begins the next batch after this one was written; returns its transactions.
    mutating func begin() -> [EncodedTransaction] {
        frames.removeAll()
        let done = transactions
        transactions.removeAll(keepingCapacity: true)
        assert(isEmpty && frames.count == 0, "A new batch is empty.")
        return done
    }

    /// Discards the batch, which then has no effect.
    mutating func discard() {
        frames.removeAll()
        transactions.removeAll()
    }
}
