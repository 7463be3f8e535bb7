/// Bounds below which a journal is brought once, as `journalctl --vacuum-size` and its like do.
///
/// A segment is asked for when any of them says so, and then everything before it, never the last one.
package struct Vacuum: Hashable, Sendable {
    /// Segments go as long as the journal is larger than this, in bytes.
    package var keepBytes: UInt64?
    /// Segments go whose last transaction is older than this, in seconds.
    package var keepSeconds: UInt64?
    /// Segments go that end below this position.
    package var before: UInt64?
    /// Whether what somebody needs goes, too.
    package var isForced: Bool

    /// Bounds; without any nothing goes.
    package init(
        keepBytes: UInt64? = nil, keepSeconds: UInt64? = nil, before: UInt64? = nil,
        isForced: Bool = false
    ) {
        self.keepBytes = keepBytes
        self.keepSeconds = keepSeconds
        self.before = before
        self.isForced = isForced
    }
}

/// What a ``Vacuum`` comes to.
package struct VacuumPlan: Hashable {
    /// What goes now.
    package var goes: RetentionPlan
    /// Whether more would go another time.
    package var isMore = false
    /// How many bytes of what is asked for each of the state's floors needs, in their order.
    package var held: [UInt64]
}

extension Vacuum {
    /// Decides what goes, `limit` segments at most; `time` as of ``RetentionPolicy``.
    ///
    /// Who is expired already holds nothing back. Segments above the checkpoint are not asked for.
    package func plan(
        _ state: RetentionState, limit: Int = .max, time: (JournalSegment) -> Int64?
    ) -> VacuumPlan {
        let first = state.segments.first?.first ?? 1
        var plan = VacuumPlan(
            goes: RetentionPlan(trimBelow: first),
            held: [UInt64](repeating: 0, count: state.floors.count))
        var isHeld = false
        for segment in wanted(state, time) {
            var isNeeded = false
            for (index, floor) in state.floors.enumerated()
            where floor >= first - 1 && floor < segment.last {
                plan.held[index] += segment.bytes
                isNeeded = true
            }
            isHeld = isHeld || (isNeeded && !isForced)
            guard !isHeld else { continue }
            guard plan.goes.segments < limit else {
                plan.isMore = true
                continue
            }
            plan.goes.add(segment)
            plan.goes.expires = plan.goes.expires || isNeeded
        }
        return plan
    }

    /// The segments that are asked for, whoever needs them.
    private func wanted(
        _ state: RetentionState, _ time: (JournalSegment) -> Int64?
    ) -> [JournalSegment] {
        let age = RetentionPolicy(keepSeconds: keepSeconds)
        var total = state.segments.reduce(0) { $0 + $1.bytes }
        var wanted: [JournalSegment] = []
        for segment in state.segments.dropLast() where segment.last <= state.checkpoint {
            let isAskedFor =
                (keepBytes.map { total > $0 } ?? false)
                || (before.map { segment.last < $0 } ?? false)
                || age.isOld(segment, state.now, time)
            guard isAskedFor else { break }
            total -= segment.bytes
            wanted.append(segment)
        }
        return wanted
    }
}
