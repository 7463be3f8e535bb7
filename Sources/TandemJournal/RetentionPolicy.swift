/// A policy that determines how much of the journal is kept.
///
/// Whole segments are removed, oldest first. The last segment is never removed, nor is one with a
/// transaction above the durable checkpoint. A segment is removed
///
/// - if the journal is larger than ``keepBytes`` or the segment's last transaction is older than
///   ``keepSeconds``, *and* no registered consumer and no connected session still needs it;
/// - if the journal is larger than ``capBytes``; readers that still need the segment are expired.
///
/// Without bounds, everything is kept, and the store can be rebuilt from the journal alone.
///
///     RetentionPolicy(keepBytes: 1 << 30, keepSeconds: 30 * 86_400, capBytes: 8 << 30)
public struct RetentionPolicy: Hashable, Sendable {
    /// The size in bytes above which unneeded segments are removed; nil for no bound.
    public var keepBytes: UInt64?
    /// The age in seconds above which unneeded segments are removed; nil for no bound.
    public var keepSeconds: UInt64?
    /// The size in bytes above which the oldest segments are always removed; nil for no cap.
    public var capBytes: UInt64?

    /// Creates a policy with up to three bounds.
    public init(keepBytes: UInt64? = nil, keepSeconds: UInt64? = nil, capBytes: UInt64? = nil) {
        self.keepBytes = keepBytes
        self.keepSeconds = keepSeconds
        self.capBytes = capBytes
    }

    /// The default policy: 7 days or 1 GiB, and at most 4 GiB for readers that lag.
    ///
    /// The cap leaves room for consumers that lag. It is finite, so that a consumer that never
    /// returns can't fill the disk.
    public static let standard = RetentionPolicy(
        keepBytes: 1 << 30, keepSeconds: 7 * 86_400, capBytes: 4 << 30)

    /// Whether everything is kept.
    public var keepsAll: Bool { keepBytes == nil && keepSeconds == nil && capBytes == nil }
}

/// The state on which retention bases its decisions.
package struct RetentionState {
    /// All segments, oldest first; the last one is being written.
    package var segments: [JournalSegment]
    /// The durable checkpoint; later transactions of the store may not be on the disk yet.
    package var checkpoint: UInt64
    /// The floors: the positions up to which consumers and sessions no longer need anything.
    package var floors: [UInt64]
    /// The time in microseconds since 1970.
    package var now: Int64

    /// Creates a state from its components.
    package init(segments: [JournalSegment], checkpoint: UInt64, floors: [UInt64], now: Int64) {
        self.segments = segments
        self.checkpoint = checkpoint
        self.floors = floors
        self.now = now
    }
}

/// The segments that are to be removed.
package struct RetentionPlan: Hashable {
    /// The exclusive upper bound: segments that end below this position are removed.
    package var trimBelow: UInt64
    /// The number of segments to remove.
    package var segments: Int
    /// The size of the segments to remove, in bytes.
    package var bytes: UInt64
    /// Whether a reader still needs any of the segments.
    package var expires: Bool

    /// Creates a plan from its components.
    package init(
        trimBelow: UInt64, segments: Int = 0, bytes: UInt64 = 0, expires: Bool = false
    ) {
        self.trimBelow = trimBelow
        self.segments = segments
        self.bytes = bytes
        self.expires = expires
    }

    /// Adds a segment to the plan.
    mutating func add(_ segment: JournalSegment) {
        assert(segment.first == trimBelow, "Segments are added oldest first and without gaps.")
        trimBelow = segment.last + 1
        segments += 1
        bytes += segment.bytes
    }

    /// Asserts the properties that every plan has, whatever its bounds.
    func checkInvariants(_ state: RetentionState) {
        assert(
            segments == 0 || segments < state.segments.count,
            "The segment that is being written is never removed.")
        assert(
            segments == 0 || trimBelow - 1 <= state.checkpoint,
            "No transaction after the durable checkpoint is removed.")
    }
}

extension RetentionPolicy {
    /// Returns the segments to remove, at most `limit`.
    ///
    /// `time` returns the time of a segment's last transaction in microseconds since 1970; it is
    /// called for as few segments as possible. A segment of unknown age counts as new.
    package func plan(
        _ state: RetentionState, limit: Int = Int.max, time: (JournalSegment) -> Int64?
    ) -> RetentionPlan {
        var plan = RetentionPlan(trimBelow: state.segments.first?.first ?? 1)
        var total = state.segments.reduce(0) { $0 + $1.bytes }
        // Readers that are already expired hold nothing back.
        let floors = state.floors.filter { $0 >= plan.trimBelow - 1 }
        for segment in state.segments.dropLast() where plan.segments < limit {
            guard segment.last <= state.checkpoint else { break }
            let isNeeded = floors.contains { $0 < segment.last }
            let isOverCap = capBytes.map { total > $0 } ?? false
            let mayGo =
                !isNeeded
                && (keepBytes.map { total > $0 } ?? false || isOld(segment, state.now, time))
            guard isOverCap || mayGo else { break }
            total -= segment.bytes
            plan.add(segment)
            plan.expires = plan.expires || isNeeded
        }
        plan.checkInvariants(state)
        return plan
    }

    /// Returns the time at which the oldest segment becomes too old, in microseconds since 1970.
    ///
    /// Returns nil if age alone does not make the segment removable.
    ///
    /// Floors are ignored: after a reader advances, a checkpoint or a later check removes the
    /// segment.
    package func due(_ state: RetentionState, time: (JournalSegment) -> Int64?) -> Int64? {
        guard let keepSeconds, state.segments.count > 1, let oldest = state.segments.first,
            oldest.last <= state.checkpoint, let time = time(oldest)
        else { return nil }
        let age = Int64(clamping: keepSeconds).addingReportingOverflow(1).partialValue
        let (microseconds, overflow) = age.multipliedReportingOverflow(by: 1_000_000)
        let (due, beyond) = time.addingReportingOverflow(microseconds)
        return overflow || beyond || age < 0 ? nil : due
    }

    /// Whether a segment's last transaction is older than `keepSeconds`.
    func isOld(
        _ segment: JournalSegment, _ now: Int64, _ time: (JournalSegment) -> Int64?
    ) -> Bool {
        guard let keepSeconds, let time = time(segment), time < now else { return false }
        return UInt64(now.subtractingReportingOverflow(time).partialValue) / 1_000_000
            > keepSeconds
    }
}
