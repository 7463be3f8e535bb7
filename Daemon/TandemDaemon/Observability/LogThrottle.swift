/// Limits the lines of one event per interval, and counts the withheld ones.
struct LogThrottle {
    private var intervalBegan: UInt64?
    private var passed = 0
    private var withheld: UInt64 = 0

    /// Returns whether a line may be written now; otherwise counts the line as withheld.
    ///
    /// `now` is in nanoseconds of the monotonic clock.
    mutating func admits(at now: UInt64) -> Bool {
        let isOver = intervalBegan.map { now - min(now, $0) >= DaemonLimits.logIntervalNanoseconds }
        if isOver ?? true { (intervalBegan, passed) = (now, 0) }
        guard passed < DaemonLimits.logLinesInInterval else {
            withheld += 1
            return false
        }
        passed += 1
        return true
    }

    /// The time at which withheld lines are to be reported, or nil if there are none.
    var due: UInt64? {
        guard withheld > 0, let intervalBegan else { return nil }
        return intervalBegan + DaemonLimits.logIntervalNanoseconds
    }

    /// Returns and resets the number of withheld lines if the interval is over; otherwise returns
    /// 0.
    mutating func consumeWithheld(at now: UInt64) -> UInt64 {
        guard let due, now >= due else { return 0 }
        defer { withheld = 0 }
        return withheld
    }
}
