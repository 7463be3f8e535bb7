/// When what follows checkpoints is done, which are many while reads wait for them.
///
///     if housekeeping.takeDue(checkpoints: count, now) { markProgress() }
struct Housekeeping {
    /// When it is done next; nil where nothing was committed since the last time.
    private(set) var due: UInt64?
    private var lastCount: UInt64 = 0
    private var lastTime: UInt64 = 0

    /// Whether it is time, which is said once.
    mutating func takeDue(checkpoints count: UInt64, _ now: UInt64) -> Bool {
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
