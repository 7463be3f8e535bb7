/// A scale of durations on which every tenfold takes the same room.
struct DurationScale {
    /// The longest duration that it shows, in microseconds.
    let longest: Int64
    /// Where it begins, at a microsecond.
    let from: Double
    /// Where the longest ends.
    let to: Double

    /// Where a duration in microseconds ends.
    func x(_ microseconds: Int64) -> Double {
        from + (to - from) * Self.logarithm(microseconds) / max(1, Self.logarithm(longest))
    }

    /// The powers of ten, those of the clock above a second.
    var ticks: [(x: Double, label: String)] {
        let all: [Int64] = [
            1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 60_000_000, 600_000_000,
            3_600_000_000, 36_000_000_000, 864_000_000_000, 8_640_000_000_000,
        ]
        var ticks: [(x: Double, label: String)] = []
        for mark in all where mark <= max(longest, 10) {
            let x = x(mark)
            // Labels are some sixty pixels wide at most.
            if let last = ticks.last, x - last.x < 64 { continue }
            ticks.append((x, Quantity.duration(mark)))
        }
        return ticks
    }

    /// The logarithm to the base of two, straight between its powers, which is exact enough for a picture and needs no mathematics of C.
    private static func logarithm(_ value: Int64) -> Double {
        let value = Double(max(1, value))
        return Double(value.exponent) + value.significand - 1
    }
}
