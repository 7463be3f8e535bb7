/// The delay before the next connection attempt, which doubles up to a bound, with jitter.
struct Backoff {
    private let first: UInt64
    private let longest: UInt64
    private var current: UInt64

    init(_ limits: ClientLimits) {
        first = max(1, limits.firstBackoffMilliseconds)
        longest = max(first, limits.longestBackoffMilliseconds)
        current = first
    }

    /// Returns the next delay in milliseconds, between half the current bound and the bound.
    mutating func next(using random: inout some RandomNumberGenerator) -> UInt64 {
        defer { current = current > longest / 2 ? longest : current * 2 }
        return UInt64.random(in: current / 2...current, using: &random)
    }

    /// Resets the delay after a successful connection.
    mutating func reset() { current = first }
}
