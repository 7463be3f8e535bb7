/// A rate limit on the work that follows checkpoints, which are frequent while reads wait for them.
///
///     if housekeeping.consumeDue(checkpoints: count, now) { markProgress() }
struct Housekeeping {
    /// The time when the work is due; nil if there has been no checkpoint since the work was last
    /// done.
    private(set) var due: UInt64?
    private var lastCount: UInt64 = 0
    private var lastTime: UInt64 = 0

    /// Returns whether the work is due; if so, it is due again only after another checkpoint.
    mutating func consumeDue(checkpoints count: UInt64, _ now: UInt64) -> Bool {
        assert(count >= lastCount, "The number of checkpoints never decreases.")
        guard count > lastCount else { return false }
        let time = lastTime == 0 ? now : lastTime + DaemonLimits.housekeepingNanoseconds
        guard now >= time else {
            due = time
            return false
        }
        (due, lastCount, lastTime) = (nil, count, now)
        return true
    }
}
