import Algorithms

/// A histogram of durations, with buckets an eighth of an octave wide, for percentiles.
struct Durations: Equatable {
    /// The upper bounds of the buckets in microseconds, ascending.
    let bounds: [Int64]
    /// The number of durations in each bucket, followed by the number above the last bound.
    private(set) var counts: [Int]
    /// The longest duration in microseconds.
    private(set) var longest: Int64

    /// Creates an empty histogram, with bounds from a microsecond to 35 years.
    init() {
        let octaves = (3..<50).flatMap { octave in (8..<16).map { Int64($0) << (octave - 3) } }
        self.init(bounds: Array(1...7) + octaves, counts: nil, longest: 0)
    }

    /// Creates a histogram from counts; nil if their number does not match the bounds, or if a
    /// count or bound is invalid.
    init?(bounds: [Int64], counts: [Int], longest: Int64) {
        guard counts.count == bounds.count + 1, counts.allSatisfy((0...1 << 53).contains),
            zip(bounds, bounds.dropFirst()).allSatisfy(<)
        else { return nil }
        self.init(bounds: bounds, counts: counts as [Int]?, longest: longest)
    }

    private init(bounds: [Int64], counts: [Int]?, longest: Int64) {
        self.bounds = bounds
        self.counts = counts ?? [Int](repeating: 0, count: bounds.count + 1)
        self.longest = longest
    }

    /// The number of durations.
    var count: Int { counts.reduce(0, +) }

    /// Adds a duration.
    mutating func add(_ microseconds: Int64) {
        counts[bounds.partitioningIndex { $0 >= microseconds }] += 1
        longest = max(longest, microseconds)
    }

    /// Returns the percentile for a share between 0 and 1, as the upper bound of its bucket; nil if
    /// the histogram is empty.
    func percentile(_ share: Double) -> Int64? {
        let wanted = max(1, Int((share * Double(count)).rounded(.up)))
        var below = 0
        for (index, number) in counts.enumerated() {
            below += number
            guard below >= wanted, number > 0 else { continue }
            return index < bounds.count ? min(bounds[index], longest) : longest
        }
        return nil
    }
}
