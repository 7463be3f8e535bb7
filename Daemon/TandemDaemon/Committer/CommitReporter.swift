import TandemModel

/// Counts and logs the committer's flushes, checkpoints and replays.
struct CommitReporter {
    let log: DaemonLog
    private(set) var counters = CommitCounters()

    init(log: DaemonLog) { self.log = log }

    /// Counts a retried save.
    mutating func countRepeat() { counters.repeats += 1 }

    /// Counts a checkpoint that was made for waiting reads.
    mutating func countReadCheckpoint() { counters.readCheckpoints += 1 }

    /// Records how long work occupied the daemon's thread.
    mutating func record(_ cause: StallLog.Cause, from start: UInt64, to end: UInt64) {
        counters.stalls.record(cause, from: start, to: end)
    }

    /// Counts and logs a flush of transactions up to a position.
    mutating func recordFlush(
        of saves: Int, upTo position: UInt64, from start: UInt64, to end: UInt64
    ) {
        assert(saves > 0 && start <= end, "A flush has transactions.")
        counters.transactions += UInt64(saves)
        counters.flushes.record(nanoseconds: end - start)
        counters.stalls.record(.flush, from: start, to: end)
        let isSlow = end - start >= DaemonLimits.slowNanoseconds
        log(
            isSlow ? .slow : .flushed,
            [
                "cause": "flush", "position": position, "saves": saves,
                "duration_us": (end - start) / 1_000,
            ])
    }

    /// Counts and logs a checkpoint; checkpoints for reads are frequent, so only slow ones are
    /// logged.
    mutating func recordCheckpoint(
        at position: UInt64, isForReads: Bool, from start: UInt64, to end: UInt64
    ) {
        counters.checkpoints.record(nanoseconds: end - start)
        counters.stalls.record(.checkpoint, from: start, to: end)
        let isSlow = end - start >= DaemonLimits.slowNanoseconds
        guard isSlow || !isForReads else { return }
        log(
            isSlow ? .slow : .checkpoint,
            [
                "cause": "checkpoint", "position": position,
                "duration_us": (end - start) / 1_000,
            ])
    }

    /// Counts and logs a replay of changes that the store lacked.
    mutating func record(_ replay: JournalReplay.Outcome) {
        counters.replayNanoseconds += replay.nanoseconds
        counters.replayedChanges += replay.changes
        log(
            .replayed,
            [
                "from": replay.positions.lowerBound, "to": replay.positions.upperBound,
                "duration_us": replay.nanoseconds / 1_000,
            ])
    }
}

/// Counters since the start of the daemon.
struct CommitCounters {
    /// The number of batches written, each with one flush.
    var batches: UInt64 { flushes.count }
    var transactions: UInt64 = 0
    var repeats: UInt64 = 0
    /// The number of checkpoints made for waiting reads.
    var readCheckpoints: UInt64 = 0
    var flushes = Histogram()
    var checkpoints = Histogram()
    var stalls = StallLog()
    /// The number of changes applied from the journal; `replayNanoseconds` holds the duration.
    var replayedChanges: UInt64 = 0
    var replayNanoseconds: UInt64 = 0
}
