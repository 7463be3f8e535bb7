/// The syncs of a session: requests that wait until it has received everything up to a position.
struct WaitingSyncs {
    /// A request that is answered when a position is reached, or fails at a deadline.
    struct Waiting {
        let number: UInt64
        let id: UInt32
        let deadline: UInt64
    }

    /// The syncs in order of arrival.
    private(set) var waiting: [Waiting] = []

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    /// The lowest awaited position; nil if there is none.
    var nextPosition: UInt64? { waiting.lazy.map(\.number).min() }

    /// The earliest deadline; nil if there is none.
    var nextDeadline: UInt64? { waiting.lazy.map(\.deadline).min() }

    /// Returns whether any sync waits for a position up to `last`.
    func hasReached(_ last: UInt64) -> Bool { waiting.contains { $0.number <= last } }

    /// Adds a sync.
    mutating func add(_ sync: Waiting) {
        assert(!waiting.contains { $0.id == sync.id }, "An id is used by at most one sync.")
        waiting.append(sync)
    }

    /// Removes a sync; returns false if there is none with this id.
    mutating func remove(_ id: UInt32) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return false }
        waiting.remove(at: index)
        return true
    }

    /// Removes all syncs.
    mutating func removeAll() { waiting.removeAll() }

    /// Removes the syncs that wait for positions up to `last`.
    mutating func removeReached(_ last: UInt64) { waiting.removeAll { $0.number <= last } }

    /// Removes the syncs whose deadline is reached.
    mutating func removeExpired(at now: UInt64) { waiting.removeAll { $0.deadline <= now } }
}
