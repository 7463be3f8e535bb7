import TandemModel

/// A histogram of durations, with buckets each twice as wide as the previous one.
///
/// Bucket *k* counts durations of at most 2^k microseconds: from 1 µs to 16.8 s. One more bucket
/// counts longer durations. Recording a duration takes a division and a few additions, without an
/// allocation.
struct Histogram: Hashable {
    /// The number of buckets with an upper bound.
    static let bounded = 25

    /// The count of each bucket; the last is for durations above all bounds.
    private(set) var counts = [UInt64](repeating: 0, count: bounded + 1)
    /// The sum of all durations.
    private(set) var nanoseconds: UInt64 = 0
    /// The longest duration, in nanoseconds.
    private(set) var longest: UInt64 = 0

    /// The number of recorded durations.
    private(set) var count: UInt64 = 0

    /// The mean duration in nanoseconds, or 0 if none was recorded.
    var mean: UInt64 { nanoseconds / max(1, count) }

    /// Returns the bucket of a duration: the first whose bound is at least the duration.
    static func bucket(ofNanoseconds duration: UInt64) -> Int {
        guard duration > 1_000 else { return 0 }
        let whole = (duration - 1) / 1_000
        return min(bounded, UInt64.bitWidth - whole.leadingZeroBitCount)
    }

    /// Returns the upper bound of a bucket, in microseconds.
    static func microseconds(ofBucket index: Int) -> UInt64 { 1 << UInt64(index) }

    /// Records a duration, `times` times.
    mutating func record(nanoseconds duration: UInt64, times: UInt64 = 1) {
        counts[Self.bucket(ofNanoseconds: duration)] += times
        count += times
        nanoseconds &+= duration &* times
        longest = max(longest, duration)
    }

    /// The JSON of `tandem status -o json`: bounds in microseconds, and the non-cumulative count of
    /// each bucket.
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
