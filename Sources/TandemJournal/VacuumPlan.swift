/// Bounds to which a journal is reduced once, as with `journalctl --vacuum-size`.
///
/// A segment is selected if it exceeds any bound. The selection ends at the first segment that
/// exceeds none, and never includes the last segment.
package struct Vacuum: Hashable, Sendable {
    /// The size, in bytes, to which the journal should shrink.
    package var keepBytes: UInt64?
    /// The age in seconds above which segments are selected, measured by their last transaction.
    package var keepSeconds: UInt64?
    /// The position below which a segment must end to be selected.
    package var before: UInt64?
    /// Whether segments that a reader still needs are also removed.
    package var isForced: Bool

    /// Creates bounds; if all are nil, nothing is selected.
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

/// The outcome of planning a ``Vacuum``.
package struct VacuumPlan: Hashable {
    /// The segments to remove now.
    package var removal: RetentionPlan
    /// Whether further segments could be removed by another call.
    package var isMore = false
    /// The selected bytes that each of the state's floors still needs, in the order of the floors.
    package var held: [UInt64]
}

extension Vacuum {
    /// Returns the segments to remove, at most `limit`; see ``RetentionPolicy`` for `time`.
    ///
    /// Readers that are already expired hold nothing back. Segments above the checkpoint are not
    /// selected.
    package func plan(
        _ state: RetentionState, limit: Int = .max, time: (JournalSegment) -> Int64?
    ) -> VacuumPlan {
        let first = state.segments.first?.first ?? 1
        var plan = VacuumPlan(
            removal: RetentionPlan(trimBelow: first),
            held: [UInt64](repeating: 0, count: state.floors.count))
        var isHeld = false
        for segment in selected(state, time) {
            var isNeeded = false
            for (index, floor) in state.floors.enumerated()
            where floor >= first - 1 && floor < segment.last {
                plan.held[index] += segment.bytes
                isNeeded = true
            }
            isHeld = isHeld || (isNeeded && !isForced)
            guard !isHeld else { continue }
            guard plan.removal.segments < limit else {
                plan.isMore = true
                continue
            }
            plan.removal.add(segment)
            plan.removal.expires = plan.removal.expires || isNeeded
        }
        plan.removal.checkInvariants(state)
        assert(!plan.removal.expires || isForced, "Only a forced vacuum expires readers.")
        return plan
    }

    /// Returns the selected segments, regardless of the readers that need them.
    private func selected(
        _ state: RetentionState, _ time: (JournalSegment) -> Int64?
    ) -> [JournalSegment] {
        let age = RetentionPolicy(keepSeconds: keepSeconds)
        var total = state.segments.reduce(0) { $0 + $1.bytes }
        var selected: [JournalSegment] = []
        for segment in state.segments.dropLast() where segment.last <= state.checkpoint {
            let isAskedFor =
                (keepBytes.map { total > $0 } ?? false)
                || (before.map { segment.last < $0 } ?? false)
                || age.isOld(segment, state.now, time)
            guard isAskedFor else { break }
            total -= segment.bytes
            selected.append(segment)
        }
        return selected
    }
}
