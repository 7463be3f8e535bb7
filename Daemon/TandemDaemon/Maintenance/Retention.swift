import TandemJournal
import TandemModel
import TandemStore

/// The retention policy, its counters, and the ages of segments.
struct Retention {
    let policy: RetentionPolicy
    var counters = RetentionCounters()
    /// The time of the last transaction of each segment, by the segment's first position.
    private var times: [UInt64: Int64] = [:]
    /// The segment whose age can't be read, with the reason; it and all later segments are kept.
    private var unreadable: (segment: UInt64, reason: String)?
    /// The time of the next run that needs no checkpoint, in monotonic nanoseconds; nil if there is
    /// none.
    private(set) var nextRetry: UInt64?

    init(_ policy: RetentionPolicy = RetentionPolicy()) { self.policy = policy }

    /// Decides which segments to remove now.
    ///
    /// For each segment whose age matters, one transaction is read once.
    mutating func plan(_ state: RetentionState, _ journal: Journal) -> RetentionPlan {
        times = times.filter { $0.key >= journal.bounds.first }
        if let segment = unreadable?.segment, segment < journal.bounds.first { unreadable = nil }
        let policy = policy
        return policy.plan(state, limit: DaemonLimits.trimmedSegments) { segment in
            time(of: segment, journal)
        }
    }

    /// Decides which segments to remove for a vacuum request.
    mutating func plan(
        _ vacuum: Vacuum, _ state: RetentionState, _ journal: Journal, limit: Int
    ) -> VacuumPlan {
        vacuum.plan(state, limit: limit) { time(of: $0, journal) }
    }

    /// Schedules the next run that needs no checkpoint, when a segment reaches the maximum age or a
    /// pin ends.
    ///
    /// If segments are overdue but were not removed, the next run is delayed by
    /// ``DaemonLimits/retentionPauseSeconds``.
    mutating func schedule(
        _ state: RetentionState, _ journal: Journal, monotonic: UInt64, pinEnd: UInt64? = nil
    ) {
        nextRetry = policy.keepsAll || journal.segments.count < 2 ? nil : pinEnd
        let policy = policy
        guard let due = policy.due(state, time: { time(of: $0, journal) }) else { return }
        let wait = due > state.now ? UInt64(due - state.now) : 0
        let least = wait == 0 ? DaemonLimits.retentionPauseSeconds : 0
        let seconds = min(max(wait / 1_000_000 + 1, least), DaemonLimits.retentionCheckSeconds)
        nextRetry = min(nextRetry ?? .max, monotonic + seconds * 1_000_000_000)
    }

    /// Schedules a run now.
    mutating func scheduleNow(_ now: UInt64) { nextRetry = now }

    private mutating func time(of segment: JournalSegment, _ journal: Journal) -> Int64? {
        if let known = times[segment.first] { return known }
        do {
            let time = try Self.time(of: segment.last, journal)
            times[segment.first] = time
            if unreadable?.segment == segment.first { unreadable = nil }
            return time
        } catch {
            unreadable = (segment.first, "position \(segment.last) cannot be read: \(error)")
            return nil
        }
    }

    private static func time(of position: UInt64, _ journal: Journal) throws -> Int64? {
        guard let entry = try journal.read(from: position).next() else { return nil }
        return try EncodedTransaction(bytes: entry.payload).decoded().time
    }

    /// Returns the report for `status`.
    func status(of journal: Journal) -> JSON {
        func number(_ value: UInt64?) -> JSON { value.map { .int(Int64(clamping: $0)) } ?? .null }
        let segments = journal.segments
        return .object([
            "keepBytes": number(policy.keepBytes), "keepSeconds": number(policy.keepSeconds),
            "capBytes": number(policy.capBytes), "segments": .int(Int64(segments.count)),
            "bytes": number(segments.reduce(0) { $0 + $1.bytes }),
            "trimmedSegments": number(counters.segments), "trimmedBytes": number(counters.bytes),
            "expiredConsumers": number(counters.expiredConsumers),
            "expiredSessions": number(counters.expiredSessions),
            "expiredPins": number(counters.expiredPins),
            "failure": (counters.failure ?? unreadable?.reason).map { .string($0) } ?? .null,
        ])
    }
}

/// Counters of retention since the start.
struct RetentionCounters {
    var segments: UInt64 = 0
    var bytes: UInt64 = 0
    var expiredConsumers: UInt64 = 0
    var expiredSessions: UInt64 = 0
    var expiredPins: UInt64 = 0
    /// The error of the last attempt; nil if it succeeded.
    var failure: String?
}
