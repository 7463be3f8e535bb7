/// Decides whether reads in progress defer the merge of received transactions.
///
/// A merge past the position of a read's answer would make the answer unusable.
final class MergeDeferral {
    /// The number of repeated reads, during which nothing is merged automatically.
    ///
    /// A read is repeated if the context has merged past the position of the read's answer.
    private var repeatedReads = 0
    /// The number of running reads.
    private var reads = 0
    /// Whether a merge was deferred.
    private(set) var hasDeferred = false
    private let link: ContextLink

    init(_ link: ContextLink) { self.link = link }

    /// Whether no read is running.
    var isIdle: Bool { reads == 0 && repeatedReads == 0 }

    /// Returns whether a merge has to be deferred, and records the deferral if so.
    ///
    /// If `isKept` is false, the connection does not keep the transactions for a later merge, and
    /// only repeated reads defer it.
    func defers(ifKept isKept: @autoclosure () -> Bool) -> Bool {
        guard repeatedReads > 0 || (reads > 0 && isKept()) else { return false }
        hasDeferred = true
        return true
    }

    func beginRead() { reads += 1 }

    /// Ends a read, and schedules the deferred merge if nothing defers it any more.
    func endRead() {
        assert(reads > 0, "A read begins before it ends.")
        reads -= 1
        schedule()
    }

    func beginRepeatedRead() { repeatedReads += 1 }

    /// Ends a repeated read, and schedules the deferred merge if nothing defers it any more.
    func endRepeatedRead() {
        assert(repeatedReads > 0, "A read begins before it ends.")
        repeatedReads -= 1
        schedule()
    }

    private func schedule() {
        guard isIdle, hasDeferred else { return }
        hasDeferred = false
        link.signal()
    }
}
