import TandemModel

/// How often something took how long, in buckets each twice as wide as the one before.
///
/// Bucket *k* counts what took at most 2^k microseconds: from 1 µs to 16.8 s, and one more for
/// all that took longer. Noting a duration is a division and a few additions; nothing is allocated.
struct Histogram: Hashable {
    /// Buckets with an upper bound.
    static let bounded = 25

    /// One count per bucket, the last for what is longer than all bounds.
    private(set) var counts = [UInt64](repeating: 0, count: bounded + 1)
    /// All durations together.
    private(set) var nanoseconds: UInt64 = 0
    /// The longest one.
    private(set) var longest: UInt64 = 0

    /// How many durations were noted.
    private(set) var count: UInt64 = 0

    /// The mean duration in nanoseconds; 0 when none was noted.
    var mean: UInt64 { nanoseconds / max(1, count) }

    /// The bucket of a duration: the first whose bound is not below it.
    static func bucket(ofNanoseconds duration: UInt64) -> Int {
        guard duration > 1_000 else { return 0 }
        let whole = (duration - 1) / 1_000
        return min(bounded, UInt64.bitWidth - whole.leadingZeroBitCount)
    }

    /// The upper bound of a bucket in microseconds.
    static func microseconds(ofBucket index: Int) -> UInt64 { 1 << UInt64(index) }

    /// Notes a duration, `times` over.
    mutating func note(nanoseconds duration: UInt64, times: UInt64 = 1) {
        counts[Self.bucket(ofNanoseconds: duration)] += times
        count += times
        nanoseconds &+= duration &* times
        longest = max(longest, duration)
    }

    /// As `tandem status -o json` shows it: bounds in microseconds, and the count of each bucket alone.
    var json: JSON {
        .object([
            "boundsMicroseconds": .array(
                (0..<Self.bounded).map { .int(Int64(Self.microseconds(ofBucket: $0))) }),
            "counts": .array(counts.map { .int(Int64(clamping: $0)) }),
            "sumMicroseconds": .double(Double(nanoseconds) / 1_000),
            "longestMicroseconds": .int(Int64(clamping: longest / 1_000)),
        ])
    }
}
