import TandemStore

/// The removal of old save ids and blobs from the store, as part of its checkpoints.
struct StoreSweep {
    /// Blobs last referenced before this position have been removed.
    private(set) var blobsBelow: UInt64 = 0
    private var last: UInt64 = 0

    /// Returns whether a checkpoint includes a sweep.
    ///
    /// A checkpoint for reads includes one only if the last sweep was at least
    /// ``DaemonLimits/housekeepingNanoseconds`` ago.
    func isDue(_ now: UInt64, isForReads: Bool) -> Bool {
        !isForReads || now - min(now, last) >= DaemonLimits.housekeepingNanoseconds
    }

    /// Removes a bounded number of blobs that only transactions before a position referred to;
    /// returns whether none remains.
    ///
    /// After a trim of the journal, such blobs are unreachable.
    func removeBlobs(below position: UInt64, from store: Store) throws(StoreError) -> Bool {
        guard position > blobsBelow else { return true }
        let most = DaemonLimits.blobsPerSweep
        return try store.sweepBlobs(below: position, atMost: most) < most
    }

    /// Records a sweep, and the position before which all blobs were removed; nil if some remain.
    mutating func didSweep(below position: UInt64?, at time: UInt64) {
        assert(position ?? .max >= blobsBelow, "The journal's first position never decreases.")
        blobsBelow = position ?? blobsBelow
        last = time
    }
}
