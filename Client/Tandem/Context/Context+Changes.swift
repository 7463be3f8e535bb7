import TandemModel

extension ManagedObjectContext {
    /// Calls `handler` with what became of the context's objects, on the context's actor, as long as the result is held.
    ///
    /// It is called when pending changes are processed: at the end of every merge, before a save looks at what to save, by
    /// ``processPendingChanges()``, and else in a job of its own on the context's actor, which comes as soon as the one that
    /// edits returns or awaits something. What is merged from others is *refreshed*, what is edited here *updated*; a save itself
    /// changes nothing that was not told before, apart from what the daemon added to it.
    public func onObjectsDidChange(
        _ handler: @escaping (ObjectsChange) -> Void
    ) -> ObjectsObservation {
        let observation = ObjectsObservation(handler)
        changes.add(observation)
        return observation
    }

    /// What becomes of the context's objects, from now on; see ``onObjectsDidChange(_:)`` for the moments.
    ///
    /// Ends with the context, and with `limitExceeded` for an iterator that lags too far behind (``ClientLimits/bufferedPayloads``).
    public var objectsDidChange: some AsyncSequence<ObjectsChange, any Error> {
        changes.stream(limit: core.limits.bufferedPayloads)
    }

    /// Tells who observes the context's objects what became of them; nothing happens if nothing did.
    ///
    /// What those who are told do is told next, in a job of its own: also when one of them calls this, or saves.
    public func processPendingChanges() {
        stepOverlays()
        guard changes.isHeard, !changes.isEmpty, !changes.isTelling else { return }
        let change = changes.take(at: position)
        if change.isEmpty { return }
        changes.tell(change, limit: core.limits.bufferedPayloads)
        if !changes.isEmpty { scheduleTelling() }
    }

    /// Tells those who observe this context or a child of it, in the job that was asked for.
    func processScheduled() {
        changes.isScheduled = false
        let work = postponed
        postponed = []
        for work in work { work() }
        processPendingChanges()
        for child in children { child.value?.processScheduled() }
    }

    /// Loads objects in a job of its own, soon, and lets lists look again.
    func loadSoon(_ references: [ObjectReference]) {
        if references.isEmpty { return }
        lacking.formUnion(references)
        scheduleTelling()
    }

    /// Loads what lists lack; what fails is asked for again with the next edit.
    nonisolated(nonsending) func loadLacking() async {
        let wanted = lacking
        lacking = []
        // Loading merges, which some contexts never do unprompted: their rows stay as stored until somebody asks.
        guard !wanted.isEmpty, mergesAutomatically, !isPaused, pinnedPosition == nil else { return }
        let step = try? loadStep(wanted.sorted(), members: [])
        guard (try? await step?.runAsync(on: connection)) != nil else { return }
        for participant in root.participants { participant.value?.noteLoaded() }
        stepOverlays()
    }

    /// Does something in a job of its own on the context's actor, soon.
    func postpone(_ work: @escaping () -> Void) {
        postponed.append(work)
        scheduleTelling()
    }

    /// Lets lists look again at an object whose edits came, went or changed.
    func noteEdit(_ object: ObjectReference) {
        if parent == nil, participants.isEmpty { return }
        for participant in root.participants { participant.value?.noteEdit(object) }
    }

    /// Lets lists look again, soon, since edits ended that nobody was told of.
    func noteEndOfEdits(of records: some Sequence<ObjectRecord>) {
        if root.participants.isEmpty { return }
        for record in records { noteEdit(record.reference) }
        scheduleTelling()
    }

    func scheduleTelling() {
        guard !changes.isScheduled else { return }
        changes.isScheduled = true
        link.signalChanges()
    }

    /// Notes that an object is about to change, also in children, which show it below their edits.
    func touch(_ record: ObjectRecord, _ reason: PendingChanges.Reason) {
        for child in children.compactMap(\.value) {
            guard let record = child.records[record.reference.number] else { continue }
            child.touch(record, .refresh)
        }
        noteEdit(record.reference)
        if changes.isHeard {
            changes.touch(record, reason)
            scheduleTelling()
        } else if !root.participants.isEmpty {
            scheduleTelling()
        }
    }

    /// Lets all lists that show edits of this context take them in, then tell.
    func stepOverlays() {
        let root = root
        guard root.participants.contains(where: { $0.value?.isOverlayStale == true }) else {
            return
        }
        let stale = root.participants.compactMap(\.value).filter(\.isOverlayStale)
        if stale.isEmpty { return }
        // Whoever has something to tell tells it of the list as it is now.
        root.deliver()
        let stepped = stale.filter { $0.stepOverlay() }
        root.undelivered += stepped.filter { new in !root.undelivered.contains { $0 === new } }
        root.deliver()
    }

    /// Notes what a merge is about to change; `own` is the context's save whose transaction may be among it.
    func touch(_ group: MergedGroup, besides own: UnansweredSave?) {
        for child in children { child.value?.touch(group, besides: own) }
        guard changes.isHeard, let model = session?.model else { return }
        let others = group.transactions.lazy.filter { own?.isMade(by: $0) != true }
        let foreign = Set(others.flatMap(\.changes).map(\.object.number))
        let edited = Set(own?.records.map(\.reference.number) ?? [])
        for change in group.changes {
            let number = change.object.number
            // What only the own save did was told when it was edited, apart from what the daemon added.
            let isForeign = foreign.contains(number)
            if !isForeign, edited.contains(number) { continue }
            if let record = records[number], record.object != nil {
                changes.touch(record, .refresh)
            }
            if isForeign { changes.merge(change.kind, model.id(of: change.object)) }
        }
        if parent != nil, !changes.isEmpty { scheduleTelling() }
    }
}
