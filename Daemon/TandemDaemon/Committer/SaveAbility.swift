import TandemModel

/// Whether the daemon takes saves; if not why, since when, and when to look again.
///
/// A value without a clock or a disk: its owner says what it met and what time it is. Several things can be short at once and
/// end one by one; saves are taken while nothing is.
///
/// | state | a shortage is met | it is looked at and still there | it is looked at and gone |
/// |---|---|---|---|
/// | writable | read-only since then | | |
/// | read-only | read-only as before, for this too | looked at again later | writable if it was the last |
struct SaveAbility: Hashable {
    /// What can be short.
    enum Shortage: Hashable, CaseIterable {
        /// The journal's next segment can't be made.
        case journal
        /// The store's file can't grow, so that a checkpoint has no room.
        case store
        /// The store's memory map has its largest size.
        case map
    }

    /// One thing that is short.
    struct Trouble: Hashable {
        var shortage: Shortage
        /// What the system said, with the path and what to do.
        var detail: String
        /// The bytes that were asked for in vain.
        var bytes: Int
        /// In microseconds since 1970.
        var since: Int64
        /// When it is looked at again, in nanoseconds of the monotonic clock.
        var nextLook: UInt64
    }

    /// What is short, in the order in which it was met.
    private(set) var troubles: [Trouble] = []

    /// True while saves are refused.
    var isReadOnly: Bool { !troubles.isEmpty }

    /// Since when saves are refused, in microseconds since 1970.
    var since: Int64? { troubles.map(\.since).min() }

    /// Why saves are refused and what to do; empty when they are not.
    var reason: String {
        troubles.map { "\($0.shortage.sentence): \($0.detail)" }.joined(separator: "; ")
    }

    /// With what a save is refused, if it is.
    var refusal: TandemError? {
        guard isReadOnly else { return nil }
        return TandemError(
            .readOnly, "no saves are taken until there is room again; reads go on. \(reason)")
    }

    func isShort(_ shortage: Shortage) -> Bool { troubles.contains { $0.shortage == shortage } }

    /// Notes that something is short; what is known to be keeps its beginning.
    mutating func met(
        _ shortage: Shortage, _ detail: String, bytes: Int = 0, wall: Int64, monotonic: UInt64
    ) {
        let since = troubles.first { $0.shortage == shortage }?.since ?? wall
        troubles.removeAll { $0.shortage == shortage }
        troubles.append(
            Trouble(
                shortage: shortage, detail: detail, bytes: bytes, since: since,
                nextLook: monotonic &+ DaemonLimits.spaceRetryNanoseconds))
    }

    /// Notes that something is there again.
    mutating func ended(_ shortage: Shortage) {
        troubles.removeAll { $0.shortage == shortage }
    }

    /// When something is to be looked at again, in nanoseconds of the monotonic clock.
    var nextLook: UInt64? { troubles.map(\.nextLook).min() }

    /// What is to be looked at now.
    func due(at monotonic: UInt64) -> [Trouble] { troubles.filter { $0.nextLook <= monotonic } }
}

extension SaveAbility.Shortage {
    fileprivate var sentence: String {
        switch self {
        case .journal: "the journal has no room for its next segment"
        case .store: "the store's file has no room to grow"
        case .map: "the store has reached its quota"
        }
    }
}
