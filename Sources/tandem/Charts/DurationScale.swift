/// A logarithmic scale of durations.
struct DurationScale {
    /// The longest duration on the scale, in microseconds.
    let longest: Int64
    /// The coordinate of one microsecond.
    let from: Double
    /// The coordinate of the longest duration.
    let to: Double

    /// Returns the coordinate of a duration in microseconds.
    func x(_ microseconds: Int64) -> Double {
        from + (to - from) * Self.logarithm(microseconds) / max(1, Self.logarithm(longest))
    }

    /// The ticks: powers of ten up to ten seconds, then round numbers of minutes, hours and days.
    var ticks: [(x: Double, label: String)] {
        let all: [Int64] = [
            1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 60_000_000, 600_000_000,
            3_600_000_000, 36_000_000_000, 864_000_000_000, 8_640_000_000_000,
        ]
        var ticks: [(x: Double, label: String)] = []
        for mark in all where mark <= max(longest, 10) {
            let x = x(mark)
            // A label is at most about sixty pixels wide.
            if let last = ticks.last, x - last.x < 64 { continue }
            ticks.append((x, Quantity.duration(mark)))
        }
        return ticks
    }

    /// Returns the base-2 logarithm, interpolated linearly between powers of two.
    ///
    /// The result is accurate enough for a chart, and needs no C library.
    private static func logarithm(_ value: Int64) -> Double {
        let value = Double(max(1, value))
        return Double(value.exponent) + value.significand - 1
    }
}
