import TandemResults

/// The changes that a list has not published yet, and the list to show until then.
///
/// While an element is being created, the list must not change for its reader. A merge during that
/// time is therefore recorded, and the old list is shown until the reads have ended.
struct PendingPublication {
    /// The list that is shown until all current reads have ended, if a merge changed it during a
    /// read.
    private(set) var heldList: SectionedList?
    private var changes: [ControllerChange] = []
    private var hasFailure = false
    /// Whether a job that publishes the changes is scheduled to run after the current job.
    private var isScheduled = false

    /// Records a change to the list; `old` is the list before it, if it is being read.
    mutating func record(_ change: ControllerChange, from old: SectionedList?) {
        changes.append(change)
        heldList = heldList ?? old
    }

    /// Records that the list's error changed.
    mutating func recordFailure() { hasFailure = true }

    /// Returns whether the caller has to schedule a job that publishes after the current reads.
    mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// Discards the recorded changes, because the list was replaced.
    mutating func reset() {
        let wasScheduled = isScheduled
        self = PendingPublication()
        isScheduled = wasScheduled
    }

    /// Removes and returns the changes to publish; nil if there are none.
    ///
    /// `isOfInterest` decides whether changes that leave the order unchanged are published.
    mutating func drain(
        _ isOfInterest: (ResultsChange) -> Bool
    ) -> (changes: [ControllerChange], isWanted: Bool)? {
        defer { self = PendingPublication() }
        guard hasFailure || !changes.isEmpty else { return nil }
        let isWanted =
            hasFailure || heldList != nil
            || changes.contains { $0.change.changesOrder || isOfInterest($0.change) }
        return (changes, isWanted)
    }
}

extension ResultsChange {
    /// Whether ids are inserted, deleted or moved; false if only values change.
    var changesOrder: Bool {
        if !sections.isEmpty { return true }
        return objects.contains { object in
            if case .update = object { false } else { true }
        }
    }
}
