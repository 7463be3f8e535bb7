/// Writes a limited number of lines of one event in an interval, and counts the rest.
struct LogThrottle {
    private var intervalBegan: UInt64?
    private var passed = 0
    private var withheld: UInt64 = 0

    /// Whether a line may be written at a time of the monotonic clock; one that may not is counted.
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

    /// When what was withheld is to be reported; nil for nothing.
    var due: UInt64? {
        guard withheld > 0, let intervalBegan else { return nil }
        return intervalBegan + DaemonLimits.logIntervalNanoseconds
    }

    /// Returns how many lines were withheld, once the interval is over; 0 before.
    mutating func takeWithheld(at now: UInt64) -> UInt64 {
        guard let due, now >= due else { return 0 }
        defer { withheld = 0 }
        return withheld
    }
}

extension Engine {
    /// Limits the log lines of events that clients cause: after a number of lines of an event in an interval, it only counts the rest.
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

    /// Logs how many lines were withheld in intervals that are over.
    func reportWithheldLines() {
        let now = clock.monotonicNanoseconds
        for event in LogEvent.allCases where throttles[event] != nil {
            reportWithheld(event, at: now)
        }
    }

    /// When lines that were withheld are to be reported next.
    var nextLogReport: UInt64? { throttles.values.compactMap(\.due).min() }

    private func reportWithheld(_ event: LogEvent, at now: UInt64) {
        guard let lines = throttles[event]?.takeWithheld(at: now), lines > 0 else { return }
        log(.linesWithheld, ["event": event.rawValue, "lines": lines])
    }
}
