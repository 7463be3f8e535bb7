import TandemWire

/// The lists and observers of a context family, which step with every merge; all are referenced
/// weakly.
final class MergeParticipants {
    /// A weak reference to a participant.
    private struct Reference {
        weak var value: (any MergeParticipant)?
        /// The same participant, if it is a list.
        weak var list: (any ListParticipant)?
    }

    private var references: [Reference] = []
    /// Participants that have stepped but have not delivered yet.
    private var undelivered: [any MergeParticipant] = []

    /// Whether no participant is registered.
    ///
    /// A released participant counts until the next participant is added or removed.
    var isEmpty: Bool { references.isEmpty }

    /// All participants that still exist.
    var all: [any MergeParticipant] { references.compactMap(\.value) }

    /// The participants that are lists.
    var lists: [any ListParticipant] { references.compactMap(\.list) }

    /// Whether any participant exists, or has a delivery outstanding.
    var hasAny: Bool {
        !undelivered.isEmpty || references.contains { $0.value != nil }
    }

    /// Whether a list waits for a fetch.
    var hasWaitingList: Bool { references.contains { $0.list?.isWaiting ?? false } }

    /// Whether a list has not applied the latest edits.
    var hasStaleOverlay: Bool { references.contains { $0.list?.isOverlayStale == true } }

    /// Registers an observer.
    func add(_ observer: any MergeParticipant) { add(Reference(value: observer)) }

    /// Registers a list.
    func add(list: any ListParticipant) { add(Reference(value: list, list: list)) }

    private func add(_ new: Reference) {
        references.removeAll { $0.value == nil || $0.value === new.value }
        references.append(new)
        assert(
            references.count { $0.value === new.value } == 1, "A participant is registered once.")
    }

    func remove(_ participant: any MergeParticipant) {
        references.removeAll { $0.value == nil || $0.value === participant }
        undelivered.removeAll { $0 === participant }
    }

    /// Calls `body` for every list.
    func forEachList(_ body: (any ListParticipant) -> Void) {
        for reference in references {
            if let list = reference.list { body(list) }
        }
    }

    // MARK: Stepping

    /// Steps all participants over a group; they deliver with the next ``deliver()``.
    func step(_ group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]]) {
        assert(undelivered.isEmpty, "A merge begins after the delivery of the one before.")
        let all = all
        for participant in all { participant.step(group, verdicts[ObjectIdentifier(participant)]) }
        undelivered = all
    }

    /// Applies the latest edits to lists, and delivers the changes.
    func stepOverlays() {
        guard hasStaleOverlay else { return }
        let stale = lists.filter(\.isOverlayStale)
        if stale.isEmpty { return }
        // Pending deliveries refer to the lists as they are before this update.
        deliver()
        let stepped: [any MergeParticipant] = stale.filter { $0.stepOverlay() }
        undelivered += stepped.filter { new in !undelivered.contains { $0 === new } }
        deliver()
    }

    /// Calls `deliver()` on all participants that have stepped.
    ///
    /// A nested merge first completes the delivery of the enclosing merge.
    func deliver() {
        while !undelivered.isEmpty { undelivered.removeFirst().deliver() }
    }
}
