import TandemModel

/// The ids of the requests in flight; at most ``SessionLimits/requestsInFlight``.
///
/// Stored in an array, because a connection usually has only a few.
struct RequestTable: Hashable, Sendable {
    private var ids: [UInt32] = []
    /// The largest number of requests in flight.
    var limit = WireLimits.requestsInFlight

    /// The error for a request that exceeds the limit.
    var limitError: TandemError {
        TandemError(
            .limitExceeded,
            "\(limit) requests are unanswered; wait for answers before sending more; "
                + "limits.requestsInFlight is \(limit)")
    }

    /// The number of requests in flight.
    var count: Int { ids.count }

    /// Whether the limit is reached.
    var isFull: Bool { ids.count >= limit }

    /// Returns whether a request is in flight.
    func contains(_ id: UInt32) -> Bool { ids.contains(id) }

    /// Adds a request.
    mutating func insert(_ id: UInt32) { ids.append(id) }

    /// Removes a request; returns false if no request has that id.
    mutating func remove(_ id: UInt32) -> Bool {
        guard let index = ids.firstIndex(of: id) else { return false }
        ids.swapAt(index, ids.count - 1)
        ids.removeLast()
        return true
    }

    /// Removes and returns all requests in ascending order.
    mutating func removeAll() -> [UInt32] {
        defer { ids = [] }
        return ids.sorted()
    }
}
