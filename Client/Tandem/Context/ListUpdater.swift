import TandemModel
import TandemWire

/// Keeps the lists of a context family up to date with edits between merges.
final class ListUpdater: StatefulPart {
    /// Objects that have to be loaded before lists can place edited objects.
    private var lacking: Set<ObjectReference> = []
    /// Whether a window that lost rows to edits waits to be refilled at the context's position.
    private var wantsFill = false

    /// Invalidates an object in the overlays of lists after edits to it were added, changed or
    /// removed.
    func didEdit(_ object: ObjectReference) {
        if parent == nil, participants.isEmpty { return }
        participants.forEachList { $0.invalidate(object) }
    }

    /// Invalidates objects in the overlays of lists, and schedules an update, after edits ended
    /// without a notification.
    func didEndEdits(of records: some Sequence<ObjectRecord>) {
        if participants.isEmpty { return }
        for record in records { didEdit(record.reference) }
        reporter.scheduleReport()
    }

    /// Updates the overlays of all lists that show edits of this context, and reports the changes.
    func stepOverlays() {
        participants.stepOverlays()
    }

    // MARK: Loading

    /// Schedules a load of objects in a separate job, after which lists are updated.
    func loadSoon(_ references: [ObjectReference]) {
        if references.isEmpty { return }
        lacking.formUnion(references)
        reporter.scheduleReport()
    }

    /// Loads the objects that lists need; after a failure, the next edit requests them again.
    func loadLacking() async {
        let wanted = lacking
        lacking = []
        // Loading merges received transactions, which is not allowed if the context does not merge
        // automatically. Its lists show the stored rows until the next request.
        guard !wanted.isEmpty, isFollowing else { return }
        guard (try? await loader.load(wanted.sorted(), suspendingCalls)) != nil else { return }
        for object in wanted { participants.forEachList { $0.invalidate(object) } }
        stepOverlays()
    }

    /// Whether the context merges received transactions automatically.
    var isFollowing: Bool {
        context.mergesAutomatically && !family.isPaused && family.pin == nil
    }

    /// Schedules a refill of the windows from which edits removed rows.
    ///
    /// The windows are refilled by the next merge, or at the context's position if it does not
    /// merge automatically.
    func fillSoon() {
        if isFollowing { return family.link.signal() }
        wantsFill = true
        reporter.scheduleReport()
    }

    /// Refills the windows from which edits removed rows, at the context's position; after a
    /// failure they wait for the next request.
    func fillWindows() async {
        guard wantsFill else { return }
        wantsFill = false
        try? await fill(suspendingCalls)
    }

    private func fill(_ calls: DaemonCalls) async throws {
        for attempt in 1... {
            try reads.checkAttempt(attempt)
            guard let session, let now = connection.knownSession, pins.isSameLog(now),
                let short = participants.lists.first(where: \.needsRefill)
            else { return }
            let group = MergedGroup(
                from: merged, to: merged, transactions: [], model: session.model)
            guard var fetch = short.refill(for: group, nil) else { return }
            let (start, pin) = (merged, family.pin)
            (fetch.at, fetch.lease) = (start, pin?.lease ?? 0)
            try await pin?.acquire(at: start, calls)
            let result = try await loggedAnswer(to: .fetch(fetch), calls)
            guard case .fetched(let answer) = try result.get(), merged == start,
                family.pin === pin, let now = connection.knownSession, pins.isSameLog(now)
            else { return }
            short.receive(.success(ListAnswer(answer, of: fetch)), for: fetch)
            applier.apply(group, verdicts: [:])
        }
    }
}
