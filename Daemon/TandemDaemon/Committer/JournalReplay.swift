import TandemIO
import TandemJournal
import TandemModel
import TandemStore

/// Applies the transactions of the journal that the store lacks.
struct JournalReplay {
    let journal: Journal
    let store: Store
    let clock: any Clock
    let notifier: ServiceNotifier?

    /// The positions applied, the number of changes, and the duration.
    struct Outcome {
        var positions: ClosedRange<UInt64>
        var changes: UInt64
        var nanoseconds: UInt64
    }

    /// Applies all missing transactions; returns nil if there is none.
    ///
    /// Each transaction is passed to `keep` after it has been applied. `commit` is called whenever
    /// the open transaction of the store is full.
    func run(
        keep: (EncodedTransaction) -> Void, commit: () throws -> Void
    ) throws -> Outcome? {
        let last = journal.tail.last
        guard store.appliedPosition < last else { return nil }
        let source = TransactionSource(journal)
        let from = store.appliedPosition + 1
        let (start, changes) = (clock.monotonicNanoseconds, store.appliedChanges)
        while store.appliedPosition < last {
            let transaction = try recorded(store.appliedPosition + 1, source)
            try store.apply(transaction)
            notifier?.replayed(transaction.position, of: last)
            keep(transaction)
            guard store.isReplayFull else { continue }
            try commit()
        }
        assert(journal.tail.last == last, "The journal does not grow during a replay.")
        return Outcome(
            positions: from...last, changes: store.appliedChanges - changes,
            nanoseconds: clock.monotonicNanoseconds - start)
    }

    /// Returns a transaction from the journal, since transactions in the ring lack the contents of
    /// blobs.
    ///
    /// A read error is fatal rather than a client's mistake, because the store lacks the
    /// transaction.
    private func recorded(
        _ position: UInt64, _ source: TransactionSource
    ) throws(DaemonError) -> EncodedTransaction {
        do throws(TandemError) {
            return try source.transaction(at: position, TransactionRing())
        } catch {
            throw DaemonError(.storage, error.message)
        }
    }
}
