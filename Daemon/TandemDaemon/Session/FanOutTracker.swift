/// Measures the time that each flush takes to reach all its subscribers.
///
/// A flush is complete when every session queued at its start has had its turn. A session that has
/// had its turn and still lacks some of the transactions extends the wait. A session that already
/// lagged before the flush does not extend it.
struct FanOutTracker {
    private struct FanOut {
        /// The last position before the flush's transactions; `end` is their last position.
        let after: UInt64
        var end: UInt64
        let begun: UInt64
        /// The turn count at which the flush is complete.
        var turns: UInt64
    }

    private var open: [FanOut] = []

    /// The number of incomplete flushes.
    var count: Int { open.count }

    /// Begins the measurement of a flush whose transactions are sent in the turns up to `turns`.
    ///
    /// Beyond ``DaemonLimits/fanOuts`` measurements, the flush is measured as part of the previous
    /// one.
    mutating func begin(after: UInt64, upTo end: UInt64, at now: UInt64, turns: UInt64) {
        guard open.count < DaemonLimits.fanOuts else {
            open[open.count - 1].end = end
            open[open.count - 1].turns = turns
            return
        }
        assert(
            open.last.map { $0.end <= after && $0.turns <= turns } ?? true,
            "Flushes are measured in order.")
        open.append(FanOut(after: after, end: end, begun: now, turns: turns))
    }

    /// Extends the wait until turn `turns`, for a session that was served only up to `position`.
    mutating func waits(at position: UInt64, turns: UInt64) {
        guard let first = open.first, position >= first.after else { return }
        for index in open.indices where open[index].end > position {
            open[index].turns = turns
        }
    }

    /// Removes completed flushes, and passes the start time of each to `over`.
    mutating func end(turns: UInt64, _ over: (UInt64) -> Void) {
        guard !open.isEmpty else { return }
        open.removeAll {
            guard $0.turns <= turns else { return false }
            over($0.begun)
            return true
        }
    }
}
