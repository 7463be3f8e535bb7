import TandemWire

/// The number of objects in the next transaction of a batch, adapted to recent durations.
struct AdaptiveBatchSize {
    private(set) var size = DaemonLimits.firstBatchObjects
    /// Whether the size is determined by the limit on a transaction's changes rather than by the
    /// duration.
    private(set) var isFull = false

    /// Limits the size to the maximum of a transaction.
    mutating func bound(_ most: Int) { size = min(size, most) }

    /// Sets the size to half the number of objects of a transaction that was too large.
    mutating func halve(_ count: Int) { size = max(1, count / 2) }

    /// Adapts the size to a transaction's duration and number of changes.
    ///
    /// `changes` is the number of changes that `count` objects caused; it includes objects at the
    /// other ends of their links.
    mutating func adapt(
        to nanoseconds: UInt64, _ count: Int, changing changes: Int, atMost most: Int
    ) {
        adapt(to: nanoseconds, atMost: most)
        guard changes > count, count > 0 else { return isFull = false }
        // Twice as many objects cause less than twice as many changes, because several links can
        // refer to the same object.
        let room = max(1, count * (WireLimits.batchObjects * 15 / 16) / changes)
        isFull = size >= room
        size = min(size, room)
    }

    /// Adapts the size to a transaction's duration.
    mutating func adapt(to nanoseconds: UInt64, atMost most: Int) {
        if nanoseconds > DaemonLimits.batchNanoseconds {
            // The duration might not depend on the size. In that case, repeated halving must not
            // end with one object per transaction.
            size = max(min(size, DaemonLimits.firstBatchObjects), size / 2)
        } else if nanoseconds < DaemonLimits.batchNanoseconds / 2 {
            size = min(size * 2, most)
        }
    }
}
