/// When commits of the store were made and how much they wrote, to tell how far a reader of the store's file lags.
///
/// Of the last ones only; whoever lags more than these lags at least as much as the oldest of them.
struct CommitLog {
    /// How far a reader lags.
    struct Lag: Hashable {
        var seconds: UInt64 = 0
        /// The bytes that were committed since.
        var bytes: UInt64 = 0
    }

    private struct Commit {
        var number: UInt64
        var time: UInt64
        /// The bytes of all commits before it.
        var bytesBefore: UInt64
    }

    private var commits: [Commit] = []
    private var bytes: UInt64 = 0
    private static let kept = 4_096

    /// Notes the last commit, which wrote about so many bytes, at a time of the monotonic clock.
    mutating func note(_ number: UInt64, bytes: UInt64, at time: UInt64) {
        commits.append(Commit(number: number, time: time, bytesBefore: self.bytes))
        self.bytes += bytes
        if commits.count > 2 * Self.kept { commits.removeFirst(Self.kept) }
    }

    /// How far a reader that sees a commit lags.
    func lag(behind commit: UInt64, now: UInt64) -> Lag {
        guard let missed = commits.first(where: { $0.number > commit }) else { return Lag() }
        return Lag(
            seconds: (now - min(now, missed.time)) / 1_000_000_000,
            bytes: bytes - missed.bytesBefore)
    }
}
