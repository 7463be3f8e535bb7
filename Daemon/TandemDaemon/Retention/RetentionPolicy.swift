import TandemJournal

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

    /// Whether everything is kept.
    public var keepsAll: Bool { keepBytes == nil && keepSeconds == nil && capBytes == nil }
}

/// What retention decides upon.
struct RetentionState {
    /// All segments, oldest first; the last one is being written.
    var segments: [JournalSegment]
    /// Transactions above it are not on the disk in the store.
    var checkpoint: UInt64
    /// The positions up to which consumers and sessions need nothing more.
    var floors: [UInt64]
    /// Microseconds since 1970.
    var now: Int64
}

/// What is to be given up.
struct RetentionPlan: Hashable {
    /// Segments that end below it go.
    var trimBelow: UInt64
    /// How many segments that are.
    var segments = 0
    /// How many bytes they have.
    var bytes: UInt64 = 0
    /// Whether somebody still needed some of it.
    var expires = false
}

extension RetentionPolicy {
    /// Decides what goes, `limit` segments at most.
    ///
    /// `time` gives the time of the last transaction of a segment, in microseconds since 1970, and is
    /// asked for as few segments as possible; a segment of unknown age is not old.
    func plan(
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
            plan.trimBelow = segment.last + 1
            plan.segments += 1
            plan.bytes += segment.bytes
            plan.expires = plan.expires || isNeeded
        }
        return plan
    }

    /// When the oldest segment is old enough to go, in microseconds since 1970; nil where no time brings that about.
    ///
    /// What somebody still needs is not waited for: those who move on are followed by a checkpoint, or it is looked at again.
    func due(_ state: RetentionState, time: (JournalSegment) -> Int64?) -> Int64? {
        guard let keepSeconds, state.segments.count > 1, let oldest = state.segments.first,
            oldest.last <= state.checkpoint, let time = time(oldest)
        else { return nil }
        let age = Int64(clamping: keepSeconds).addingReportingOverflow(1).partialValue
        let (microseconds, overflow) = age.multipliedReportingOverflow(by: 1_000_000)
        let (due, beyond) = time.addingReportingOverflow(microseconds)
        return overflow || beyond || age < 0 ? nil : due
    }

    private func isOld(
        _ segment: JournalSegment, _ now: Int64, _ time: (JournalSegment) -> Int64?
    ) -> Bool {
        guard let keepSeconds, let time = time(segment), time < now else { return false }
        return UInt64(now.subtractingReportingOverflow(time).partialValue) / 1_000_000
            > keepSeconds
    }
}
