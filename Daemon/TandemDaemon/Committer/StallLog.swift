import TandemModel

/// What kept the daemon's thread, and with it every save, for long; the longest ones since the start.
struct StallLog {
    /// What was done.
    enum Cause: String {
        case flush, checkpoint, segment, request
    }

    private struct Stall {
        var cause: Cause
        /// Nanoseconds of the monotonic clock.
        var start: UInt64
        var length: UInt64
    }

    private var stalls: [Stall] = []

    /// Notes what lasted from one time to another, if that was long.
    mutating func note(_ cause: Cause, from start: UInt64, to end: UInt64) {
        guard end > start, end - start >= DaemonLimits.stallNanoseconds else { return }
        let stall = Stall(cause: cause, start: start, length: end - start)
        if stalls.count < DaemonLimits.stallsKept { return stalls.append(stall) }
        let shortest = stalls.indices.min { stalls[$0].length < stalls[$1].length }
        guard let shortest, stalls[shortest].length < stall.length else { return }
        stalls[shortest] = stall
    }

    /// As `tandem status -o json` shows it, in the order of time.
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
