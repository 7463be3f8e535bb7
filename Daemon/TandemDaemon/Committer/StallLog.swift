import TandemModel

/// The longest stalls of the daemon's thread since the start; every save waits during a stall.
struct StallLog {
    /// The work that caused a stall.
    enum Cause: String {
        case flush, checkpoint, segment, request
    }

    private struct Stall {
        var cause: Cause
        /// The start in nanoseconds of the monotonic clock.
        var start: UInt64
        var length: UInt64
    }

    private var stalls: [Stall] = []

    /// Records work from `start` to `end` if it took long enough to count as a stall.
    mutating func record(_ cause: Cause, from start: UInt64, to end: UInt64) {
        guard end > start, end - start >= DaemonLimits.stallNanoseconds else { return }
        let stall = Stall(cause: cause, start: start, length: end - start)
        if stalls.count < DaemonLimits.stallsKept { return stalls.append(stall) }
        let shortest = stalls.indices.min { stalls[$0].length < stalls[$1].length }
        guard let shortest, stalls[shortest].length < stall.length else { return }
        stalls[shortest] = stall
        assert(stalls.count <= DaemonLimits.stallsKept, "A longer stall replaces the shortest one.")
    }

    /// The stalls by start time, as `tandem status -o json` shows them.
    var json: JSON {
        .array(
            stalls.sorted { $0.start < $1.start }.map { stall in
                .object([
                    "cause": .string(stall.cause.rawValue),
                    "startNanoseconds": .int(Int64(stall.start)),
                    "microseconds": .int(Int64(stall.length / 1_000)),
                ])
            })
    }
}
