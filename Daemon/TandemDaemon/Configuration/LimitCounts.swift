import TandemIO
import TandemModel

/// How often each limit was reached since the start.
final class LimitCounts: Sendable {
    private let counts = Locked<[Limit: UInt64]>([:])

    /// Notes that a limit was reached once more.
    func note(_ limit: Limit, _ times: UInt64 = 1) {
        counts.withLock { $0[limit, default: 0] += times }
    }

    /// How often a limit was reached.
    subscript(limit: Limit) -> UInt64 { counts.withLock { $0[limit] ?? 0 } }

    /// Notes that a limit was reached and says so: the error that ends with its name and value.
    func refusal(
        _ limit: Limit, _ limits: DaemonLimits, _ message: String,
        code: TandemError.Code = .limitExceeded
    ) -> TandemError {
        note(limit)
        let value = limit.facts.unit.text(limits[limit])
        return TandemError(code, "\(message); limits.\(limit.rawValue) is \(value)")
    }

    /// Every limit with its value and how often it was reached.
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
