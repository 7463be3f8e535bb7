/// Limits the lines of one event per interval, and counts the withheld ones.
struct LogThrottle {
    private var intervalBegan: UInt64?
    private var passed = 0
    private var withheld: UInt64 = 0

    /// Returns whether a line may be written now, by the monotonic clock; otherwise counts it as
    /// withheld.
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
    mutating func takeWithheld(at now: UInt64) -> UInt64 {
        guard let due, now >= due else { return 0 }
        defer { withheld = 0 }
        return withheld
    }
}

extension Engine {
    /// Logs an event that clients cause, with a limited number of lines per interval.
    ///
    /// Further lines of the event are only counted.
    func logThrottled(
        _ event: LogEvent, _ fields: KeyValuePairs<String, any CustomStringConvertible>,
        _ message: String?
    ) {
        guard log.isOn(event.level) else { return }
        // The debug level shows every connection.
        guard event.level != .debug else { return log(event, fields, message) }
        let now = clock.monotonicNanoseconds
        reportWithheld(event, at: now)
        guard throttles[event, default: LogThrottle()].admits(at: now) else { return }
        log(event, fields, message)
    }

    /// Logs the numbers of lines withheld in past intervals.
    func reportWithheldLines() {
        let now = clock.monotonicNanoseconds
        for event in LogEvent.allCases where throttles[event] != nil {
            reportWithheld(event, at: now)
        }
    }

    /// The time of the next report of withheld lines.
    var nextLogReport: UInt64? { throttles.values.compactMap(\.due).min() }

    private func reportWithheld(_ event: LogEvent, at now: UInt64) {
        guard let lines = throttles[event]?.takeWithheld(at: now), lines > 0 else { return }
        log(.linesWithheld, ["event": event.rawValue, "lines": lines])
    }
}
