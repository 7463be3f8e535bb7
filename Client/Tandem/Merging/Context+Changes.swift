import TandemModel

extension ManagedObjectContext {
    /// Calls `handler` on the context's actor with changes to the context's objects while the
    /// result is retained.
    ///
    /// Changes are reported when pending changes are processed:
    ///
    /// - at the end of every merge,
    /// - before a save collects the edits,
    /// - by ``processPendingChanges()``,
    /// - otherwise in a separate job on the context's actor, which runs as soon as the editing job
    ///   returns or suspends.
    ///
    /// Objects with merged changes are *refreshed*, objects edited here are *updated*. A save
    /// reports nothing new, apart from values that the daemon added to it.
    public func onObjectsDidChange(
        _ handler: @escaping (ObjectsChange) -> Void
    ) -> ObjectsObservation {
        let observation = ObjectsObservation(handler)
        changes.add(observation)
        return observation
    }

    /// The changes of the context's objects from now on; see ``onObjectsDidChange(_:)`` for when
    /// they are reported.
    ///
    /// The sequence ends with the context. It throws `limitExceeded` if its iterator lags more than
    /// ``ClientLimits/bufferedPayloads`` changes.
    public var objectsDidChange: some AsyncSequence<ObjectsChange, any Error> {
        changes.stream(limit: core.limits.bufferedPayloads)
    }

    /// Reports pending changes to the observers of the context's objects; does nothing if there are
    /// none.
    ///
    /// Changes that the observers themselves make are reported in a later job, even if an observer
    /// calls this method or saves.
    public func processPendingChanges() {
        stepOverlays()
        guard changes.isHeard, !changes.isEmpty, !changes.isNotifying else { return }
        let change = changes.drain(at: position)
        if change.isEmpty { return }
        changes.notify(change, limit: core.limits.bufferedPayloads)
        if !changes.isEmpty { scheduleReport() }
    }

    /// Runs postponed work and reports pending changes, here and in child contexts.
    func processScheduled() {
        changes.isScheduled = false
        let work = postponed
        postponed = []
        for work in work { work() }
        processPendingChanges()
        for child in children { child.value?.processScheduled() }
    }

    /// Schedules a load of objects in a separate job, after which lists are updated.
    func loadSoon(_ references: [ObjectReference]) {
        if references.isEmpty { return }
        lacking.formUnion(references)
        scheduleReport()
    }

    /// Loads the objects that lists need; after a failure, the next edit requests them again.
    func loadLacking() async {
        let wanted = lacking
        lacking = []
        // Loading merges, and some contexts never merge automatically; their rows stay as stored
        // until the next request.
        guard !wanted.isEmpty, mergesAutomatically, !isPaused, pinnedPosition == nil else { return }
        guard (try? await load(wanted.sorted(), suspendingCalls)) != nil else { return }
        for participant in root.participants { participant.list?.noteLoaded() }
        stepOverlays()
    }

    /// Schedules work in a separate job on the context's actor.
    func postpone(_ work: @escaping () -> Void) {
        postponed.append(work)
        scheduleReport()
    }

    /// Invalidates an object in the overlays of lists after its edits were added, changed or
    /// removed.
    func didEdit(_ object: ObjectReference) {
        if parent == nil, participants.isEmpty { return }
        for participant in root.participants { participant.list?.noteEdit(object) }
    }

    /// Invalidates objects in the overlays of lists, and schedules an update, after edits ended
    /// without a notification.
    func didEndEdits(of records: some Sequence<ObjectRecord>) {
        if root.participants.isEmpty { return }
        for record in records { didEdit(record.reference) }
        scheduleReport()
    }

    func scheduleReport() {
        guard !changes.isScheduled else { return }
        changes.isScheduled = true
        link.signalChanges()
    }

    /// Records that an object is about to change, also in child contexts, which show its values
    /// below their edits.
    func touch(_ record: ObjectRecord, _ reason: UnreportedChanges.Reason) {
        for child in children.compactMap(\.value) {
            guard let record = child.records[record.reference.number] else { continue }
            child.touch(record, .refresh)
        }
        didEdit(record.reference)
        if changes.isHeard {
            changes.touch(record, reason)
            scheduleReport()
        } else if !root.participants.isEmpty {
            scheduleReport()
        }
    }

    /// Updates the overlays of all lists that show edits of this context, and reports the changes.
    func stepOverlays() {
        let root = root
        guard root.participants.contains(where: { $0.list?.isOverlayStale == true }) else {
            return
        }
        let stale = root.lists.filter(\.isOverlayStale)
        if stale.isEmpty { return }
        // Pending deliveries refer to the lists as they are before this update.
        root.deliver()
        let stepped: [any MergeParticipant] = stale.filter { $0.stepOverlay() }
        root.undelivered += stepped.filter { new in !root.undelivered.contains { $0 === new } }
        root.deliver()
    }

    /// Records the changes of a merge before they are applied.
    ///
    /// `own` is the context's in-flight save, whose transaction may be part of the group.
    func touch(_ group: MergedGroup, besides own: InFlightSave?) {
        for child in children { child.value?.touch(group, besides: own) }
        guard changes.isHeard, let model = session?.model else { return }
        let others = group.transactions.lazy.filter { own?.isMade(by: $0) != true }
        let foreign = Set(others.flatMap(\.changes).map(\.object.number))
        let edited = Set(own?.records.map(\.reference.number) ?? [])
        for change in group.changes {
            let number = change.object.number
            // Changes made only by the own save were reported when they were edited, apart from
            // values that the daemon added.
            let isForeign = foreign.contains(number)
            if !isForeign, edited.contains(number) { continue }
            if let record = records[number], record.object != nil {
                changes.touch(record, .refresh)
            }
            if isForeign { changes.merge(change.kind, model.id(of: change.object)) }
        }
        if parent != nil, !changes.isEmpty { scheduleReport() }
    }
}
