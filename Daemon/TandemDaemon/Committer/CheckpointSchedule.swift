/// The times at which the store is committed, and the durations of past commits.
///
/// A pure value: its owner reports flushes, checkpoints and the time. All times are in nanoseconds
/// of the monotonic clock.
struct CheckpointSchedule {
    /// The end of the last flush with a transaction.
    private var lastSave: UInt64 = 0
    private var lastCheckpoint: UInt64
    private var lastLength: UInt64 = 0
    private var pace = CheckpointPace()
    private var commits = CommitLog()
    /// The approximate number of bytes written by all checkpoints since the start.
    private(set) var committedBytes: UInt64 = 0
    private(set) var sweep = StoreSweep()

    /// The next checkpoint.
    enum Next {
        /// A checkpoint is due, because of this limit.
        case due(Limit)
        /// A checkpoint is due at this time.
        case at(UInt64)
    }

    /// Creates the schedule of a store that has just been recovered.
    init(now: UInt64) { lastCheckpoint = now }

    /// Records that a batch became durable.
    mutating func didFlush(at time: UInt64) { lastSave = time }

    /// Returns when the open transaction is to be committed.
    ///
    /// A commit is due after an idle period without saves or acknowledgements, after a longer
    /// interval at the latest, and as soon as there are too many dirty pages.
    func next(
        now: UInt64, dirtyPages: Int, lastAcknowledged: UInt64, _ limits: DaemonLimits
    ) -> Next {
        let idle = UInt64(limits.checkpointIdleMilliseconds) * 1_000_000
        let longest = UInt64(limits.checkpointMilliseconds) * 1_000_000
        let idleEnd = max(lastSave, lastAcknowledged, lastCheckpoint) + idle
        let due = min(idleEnd, lastCheckpoint + longest)
        assert(due >= lastCheckpoint, "The next checkpoint is not due before the last one.")
        if now >= due {
            return .due(due == idleEnd ? .checkpointIdleMilliseconds : .checkpointMilliseconds)
        }
        let isFull = dirtyPages >= pace.pages(atMost: limits.checkpointPages)
        return isFull ? .due(.checkpointPages) : .at(due)
    }

    /// The time when a checkpoint for waiting reads is due.
    ///
    /// These checkpoints take at most a fifth of the thread's time away from writers.
    var dueForReads: UInt64 {
        lastCheckpoint + max(DaemonLimits.readCheckpointNanoseconds, 4 * lastLength)
    }

    /// Records a checkpoint of `pages` pages; `commit` is its number among the store's commits.
    mutating func didCommit(
        _ commit: UInt64, pages: Int, bytes: UInt64, from start: UInt64, to end: UInt64
    ) {
        assert(start <= end && end >= lastCheckpoint, "The monotonic clock never goes backwards.")
        lastCheckpoint = end
        lastLength = end - start
        pace.record(pages: pages, nanoseconds: lastLength)
        committedBytes += bytes
        commits.record(commit, bytes: bytes, at: end)
    }

    /// Records a sweep, and the position before which all blobs were removed; nil if some remain.
    mutating func didSweep(below position: UInt64?, at time: UInt64) {
        sweep.didSweep(below: position, at: time)
    }

    /// Returns the lag of a reader whose snapshot is the store's commit with this number.
    func lag(behind commit: UInt64, now: UInt64) -> CommitLog.Lag {
        commits.lag(behind: commit, now: now)
    }
}
