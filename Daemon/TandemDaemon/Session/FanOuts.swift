/// The flushes whose news not everybody has had who waited for them.
///
/// A flush is over when all who stood in the queue when it came have had their turns. Who had a turn and has not got
/// everything yet is waited for longer, but not who was behind already when it came: it has its own pace.
struct FanOuts {
    private struct FanOut {
        /// What it brought lies behind this position, up to the other.
        let after: UInt64
        var end: UInt64
        let begun: UInt64
        /// So many turns are taken when it is over.
        var turns: UInt64
    }

    private var open: [FanOut] = []

    /// How many flushes are waited for.
    var count: Int { open.count }

    /// A flush brought news, to be told in the turns up to this one.
    ///
    /// Beyond ``DaemonLimits/fanOuts`` it is timed as part of the one before.
    mutating func begin(after: UInt64, upTo end: UInt64, at now: UInt64, turns: UInt64) {
        guard open.count < DaemonLimits.fanOuts else {
            open[open.count - 1].end = end
            open[open.count - 1].turns = turns
            return
        }
        open.append(FanOut(after: after, end: end, begun: now, turns: turns))
    }

    /// Somebody had a turn, has everything up to a position, and will have another turn, which is this one.
    mutating func waits(at position: UInt64, turns: UInt64) {
        guard let first = open.first, position >= first.after else { return }
        for index in open.indices where open[index].end > position {
            open[index].turns = turns
        }
    }

    /// Tells of each flush that is over, by when it began.
    mutating func end(turns: UInt64, _ over: (UInt64) -> Void) {
        guard !open.isEmpty else { return }
        open.removeAll {
            guard $0.turns <= turns else { return false }
            over($0.begun)
            return true
        }
    }
}
