import TandemModel

/// The read-only state: whether saves are rejected for lack of space, the reasons, the start, and
/// the next retry.
///
/// A pure value: its owner reports shortages and the time. Several shortages can exist at once and
/// end separately; saves are accepted while there is none.
///
/// | state | a shortage is reported | a retry fails | a retry succeeds |
/// |---|---|---|---|
/// | writable | becomes read-only | | |
/// | read-only | stays read-only | retried later | becomes writable after the last shortage |
struct ReadOnlyState: Hashable {
    /// A resource that can run out.
    enum Shortage: Hashable, CaseIterable {
        /// The disk has no room for the journal's next segment.
        case journal
        /// The store's file can't grow, so a checkpoint has no room.
        case store
        /// The store has reached its quota.
        case map
    }

    /// An active shortage.
    struct ActiveShortage: Hashable {
        var shortage: Shortage
        /// The system's message, with the path and the remedy.
        var detail: String
        /// The number of bytes that could not be reserved.
        var bytes: Int
        /// The start of the shortage, in microseconds since 1970.
        var since: Int64
        /// The time of the next retry, in nanoseconds of the monotonic clock.
        var nextRetry: UInt64
    }

    /// The active shortages, the most recently reported one last.
    private(set) var shortages: [ActiveShortage] = []

    /// Whether saves are rejected.
    var isReadOnly: Bool { !shortages.isEmpty }

    /// The time since which saves are rejected, in microseconds since 1970.
    var since: Int64? { shortages.map(\.since).min() }

    /// The reasons why saves are rejected, and the remedies; empty if they are accepted.
    var reason: String {
        shortages.map { "\($0.shortage.sentence): \($0.detail)" }.joined(separator: "; ")
    }

    /// The error with which saves are rejected, or nil if they are accepted.
    var refusal: TandemError? {
        guard isReadOnly else { return nil }
        return TandemError(
            .readOnly, "the daemon is read-only until there is space again: \(reason)")
    }

    func isShort(_ shortage: Shortage) -> Bool { shortages.contains { $0.shortage == shortage } }

    /// Records a shortage; a shortage that is active already keeps its start time.
    mutating func record(
        _ shortage: Shortage, _ detail: String, bytes: Int = 0, wall: Int64, monotonic: UInt64
    ) {
        let since = shortages.first { $0.shortage == shortage }?.since ?? wall
        shortages.removeAll { $0.shortage == shortage }
        shortages.append(
            ActiveShortage(
                shortage: shortage, detail: detail, bytes: bytes, since: since,
                nextRetry: monotonic &+ DaemonLimits.spaceRetryNanoseconds))
        assert(shortages.count <= Shortage.allCases.count, "Each shortage is listed at most once.")
    }

    /// Clears a shortage.
    mutating func clear(_ shortage: Shortage) {
        shortages.removeAll { $0.shortage == shortage }
    }

    /// The earliest retry time, in nanoseconds of the monotonic clock.
    var nextRetry: UInt64? { shortages.map(\.nextRetry).min() }

    /// Returns the shortages whose retry is due.
    func due(at monotonic: UInt64) -> [ActiveShortage] {
        shortages.filter { $0.nextRetry <= monotonic }
    }
}

extension ReadOnlyState.Shortage {
    fileprivate var sentence: String {
        switch self {
        case .journal: "the journal has no space for its next segment"
        case .store: "the store's file has no space to grow"
        case .map: "the store has reached its quota"
        }
    }
}
