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
        guard let lines = throttles[event]?.consumeWithheld(at: now), lines > 0 else { return }
        log(.linesWithheld, ["event": event.rawValue, "lines": lines])
    }
}
