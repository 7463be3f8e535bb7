/// How often something took how long, in buckets an eighth of an octave wide, and what share of it took how long at most.
struct Durations: Equatable {
    /// The upper bounds of the buckets in microseconds, rising.
    let bounds: [Int64]
    /// One count per bound, and one more for what is longer.
    private(set) var counts: [Int]
    /// The longest in microseconds.
    private(set) var longest: Int64

    /// No durations yet; bounds from a microsecond to 35 years.
    init() {
        let octaves = (3..<50).flatMap { octave in (8..<16).map { Int64($0) << (octave - 3) } }
        self.init(bounds: Array(1...7) + octaves, counts: nil, longest: 0)
    }

    /// Counts that somebody else made; nil where they don't fit the bounds.
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

    /// How many there are.
    var count: Int { counts.reduce(0, +) }

    /// Counts a duration.
    mutating func note(_ microseconds: Int64) {
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] < microseconds { low = middle + 1 } else { high = middle }
        }
        counts[low] += 1
        longest = max(longest, microseconds)
    }

    /// What a share of all did not exceed, as exactly as the buckets tell; nil when there are none.
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
