/// The times and sizes of recent commits of the store, from which the lag of its readers is
/// computed.
///
/// Only the most recent commits are kept. For a reader older than all of them, the lag of the
/// oldest kept commit is a lower bound.
struct CommitLog {
    /// The lag of a reader.
    struct Lag: Hashable {
        var seconds: UInt64 = 0
        /// The number of bytes committed since the reader's snapshot.
        var bytes: UInt64 = 0
    }

    private struct Commit {
        var number: UInt64
        var time: UInt64
        /// The size of all earlier commits, in bytes.
        var bytesBefore: UInt64
    }

    private var commits: [Commit] = []
    private var bytes: UInt64 = 0
    private static let capacity = 4_096

    /// Records a commit of about `bytes` bytes, at a time in nanoseconds of the monotonic clock.
    mutating func record(_ number: UInt64, bytes: UInt64, at time: UInt64) {
        commits.append(Commit(number: number, time: time, bytesBefore: self.bytes))
        self.bytes += bytes
        if commits.count > 2 * Self.capacity { commits.removeFirst(Self.capacity) }
    }

    /// Returns the lag of a reader whose snapshot is the commit with this number.
    func lag(behind commit: UInt64, now: UInt64) -> Lag {
        guard let missed = commits.first(where: { $0.number > commit }) else { return Lag() }
        return Lag(
            seconds: (now - min(now, missed.time)) / 1_000_000_000,
            bytes: bytes - missed.bytesBefore)
    }
}
