/// How much of the journal is kept.
///
/// Whole segments are given up, oldest first, never the last one and never one that holds a
/// transaction above the durable checkpoint. A segment goes
///
/// - when the journal is larger than ``keepBytes``, or the segment's last transaction is older than
///   ``keepSeconds``, *and* no registered consumer and no connected session needs it any more;
/// - when the journal is larger than ``capBytes``, whoever needs it: who does is expired.
///
/// Without any of them all is kept, and the store can be rebuilt from the journal alone.
///
///     RetentionPolicy(keepBytes: 1 << 30, keepSeconds: 30 * 86_400, capBytes: 8 << 30)
public struct RetentionPolicy: Hashable, Sendable {
    /// Above this size what nobody needs is given up; nil for any size.
    public var keepBytes: UInt64?
    /// Beyond this age what nobody needs is given up; nil for any age.
    public var keepSeconds: UInt64?
    /// Above this size the oldest is given up in any case; nil for no cap.
    public var capBytes: UInt64?

    /// A policy of up to three bounds.
    public init(keepBytes: UInt64? = nil, keepSeconds: UInt64? = nil, capBytes: UInt64? = nil) {
        self.keepBytes = keepBytes
        self.keepSeconds = keepSeconds
        self.capBytes = capBytes
    }

    /// The policy of a daemon that is told nothing: 7 days or 1 GiB, and at most 4 GiB for those who lag.
    ///
    /// The cap is above the size that is kept, so a consumer may lag by more than what is kept for nobody; it is finite, so a
    /// consumer that never comes back can't fill the disk.
    public static let standard = RetentionPolicy(
        keepBytes: 1 << 30, keepSeconds: 7 * 86_400, capBytes: 4 << 30)

    /// Whether everything is kept.
    public var keepsAll: Bool { keepBytes == nil && keepSeconds == nil && capBytes == nil }
}

/// What retention decides upon.
package struct RetentionState {
    /// All segments, oldest first; the last one is being written.
    package var segments: [JournalSegment]
    /// Transactions above it are not on the disk in the store.
    package var checkpoint: UInt64
    /// The positions up to which consumers and sessions need nothing more.
    package var floors: [UInt64]
    /// Microseconds since 1970.
    package var now: Int64

    /// What there is, who needs what, and what time it is.
    package init(segments: [JournalSegment], checkpoint: UInt64, floors: [UInt64], now: Int64) {
        self.segments = segments
        self.checkpoint = checkpoint
        self.floors = floors
        self.now = now
    }
}

/// What is to be given up.
package struct RetentionPlan: Hashable {
    /// Segments that end below it go.
    package var trimBelow: UInt64
    /// How many segments that are.
    package var segments: Int
    /// How many bytes they have.
    package var bytes: UInt64
    /// Whether somebody still needed some of it.
    package var expires: Bool

    /// A plan of its parts.
    package init(
        trimBelow: UInt64, segments: Int = 0, bytes: UInt64 = 0, expires: Bool = false
    ) {
        self.trimBelow = trimBelow
        self.segments = segments
        self.bytes = bytes
        self.expires = expires
    }

    /// Takes one more segment.
    mutating func add(_ segment: JournalSegment) {
        trimBelow = segment.last + 1
        segments += 1
        bytes += segment.bytes
    }
}

extension RetentionPolicy {
    /// Decides what goes, `limit` segments at most.
    ///
    /// `time` gives the time of the last transaction of a segment, in microseconds since 1970, and is
    /// asked for as few segments as possible; a segment of unknown age is not old.
    package func plan(
        _ state: RetentionState, limit: Int = Int.max, time: (JournalSegment) -> Int64?
    ) -> RetentionPlan {
        var plan = RetentionPlan(trimBelow: state.segments.first?.first ?? 1)
        var total = state.segments.reduce(0) { $0 + $1.bytes }
        // Who is expired already holds nothing back.
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
        return plan
    }

    /// When the oldest segment is old enough to go, in microseconds since 1970; nil where no time brings that about.
    ///
    /// What somebody still needs is not waited for: those who move on are followed by a checkpoint, or it is looked at again.
    package func due(_ state: RetentionState, time: (JournalSegment) -> Int64?) -> Int64? {
        guard let keepSeconds, state.segments.count > 1, let oldest = state.segments.first,
            oldest.last <= state.checkpoint, let time = time(oldest)
        else { return nil }
        let age = Int64(clamping: keepSeconds).addingReportingOverflow(1).partialValue
        let (microseconds, overflow) = age.multipliedReportingOverflow(by: 1_000_000)
        let (due, beyond) = time.addingReportingOverflow(microseconds)
        return overflow || beyond || age < 0 ? nil : due
    }

    /// Whether a segment's last transaction is older than what is kept.
    func isOld(
        _ segment: JournalSegment, _ now: Int64, _ time: (JournalSegment) -> Int64?
    ) -> Bool {
        guard let keepSeconds, let time = time(segment), time < now else { return false }
        return UInt64(now.subtractingReportingOverflow(time).partialValue) / 1_000_000
            > keepSeconds
    }
}
