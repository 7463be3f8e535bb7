import TandemModel

/// The ids of the requests without an answer; at most ``SessionLimits/requestsInFlight``.
///
/// So few that an array beats a set.
struct RequestTable: Hashable, Sendable {
    private var ids: [UInt32] = []
    /// How many there may be.
    var limit = WireLimits.requestsInFlight

    /// What exceeding the limit is answered with.
    var limitError: TandemError {
        TandemError(
            .limitExceeded,
            "requestsInFlight: \(limit) requests are without an answer; await some of them.")
    }

    /// How many there are.
    var count: Int { ids.count }

    /// True when there is no room for another.
    var isFull: Bool { ids.count >= limit }

    /// True when the request has no answer yet.
    func contains(_ id: UInt32) -> Bool { ids.contains(id) }

    /// Adds a request.
    mutating func insert(_ id: UInt32) { ids.append(id) }

    /// Removes a request; false if there is none of that id.
    mutating func remove(_ id: UInt32) -> Bool {
        guard let index = ids.firstIndex(of: id) else { return false }
        ids.swapAt(index, ids.count - 1)
        ids.removeLast()
        return true
    }

    /// Removes all and gives them, ascending.
    mutating func removeAll() -> [UInt32] {
        defer { ids = [] }
        return ids.sorted()
    }
}
