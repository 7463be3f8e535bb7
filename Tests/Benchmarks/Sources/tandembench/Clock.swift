import Glibc

/// Returns nanoseconds of CLOCK_MONOTONIC, which is one clock for all processes of a machine.
func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Returns the microseconds from one time to a later one.
func microseconds(from start: UInt64, to end: UInt64) -> Double {
    (Double(end) - Double(start)) / 1_000
}

/// The generator that all programs of the comparison share.
struct SplitMix64 {
    var state: UInt64

    init(_ state: UInt64) { self.state = state }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Returns a number from 0 up to, but not including, `bound`.
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
