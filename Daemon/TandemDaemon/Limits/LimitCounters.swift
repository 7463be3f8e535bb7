import TandemIO
import TandemModel

/// The number of times each limit has been reached since the start.
final class LimitCounters: Sendable {
    private let counts = Locked<[Limit: UInt64]>([:])

    /// Counts that a limit was reached.
    func record(_ limit: Limit, _ times: UInt64 = 1) {
        counts.withLock { $0[limit, default: 0] += times }
    }

    /// The number of times a limit has been reached.
    subscript(limit: Limit) -> UInt64 { counts.withLock { $0[limit] ?? 0 } }

    /// Counts that a limit was reached, and returns an error that ends with its name and value.
    func refusal(
        _ limit: Limit, _ limits: DaemonLimits, _ message: String,
        code: TandemError.Code = .limitExceeded
    ) -> TandemError {
        record(limit)
        let value = limit.facts.unit.text(limits[limit])
        return TandemError(code, "\(message); limits.\(limit.rawValue) is \(value)")
    }

    /// Returns each limit with its value and the number of times it was reached.
    func status(_ limits: DaemonLimits) -> JSON {
        .object(
            Dictionary(
                uniqueKeysWithValues: Limit.allCases.map { limit in
                    let reached = Int64(clamping: self[limit])
                    let facts: [String: JSON] = [
                        "value": .int(Int64(limits[limit])), "reached": .int(reached),
                    ]
                    return (limit.rawValue, .object(facts))
                }))
    }
}
