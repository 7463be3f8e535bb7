import TandemModel
import TandemWire

/// Applies merged groups to the rows of a context, and updates its lists and observers.
struct MergeApplier: ContextPart {
    let context: ManagedObjectContext

    /// Applies a group to the rows, steps all participants, and then delivers their changes.
    ///
    /// `related` contains rows that were checked with ``checkRows(_:)``.
    func apply(
        _ group: MergedGroup, verdicts: [ObjectIdentifier: [Verdict]],
        related: [StoredObject] = []
    ) {
        participants.deliver()
        guard session != nil, group.to >= merged else { return }
        let start = log?.now ?? 0
        reporter.touch(group, besides: saving.inFlight)
        family.deferNotices()
        family.advance(to: group.to)
        saving.completeInFlight(from: group)
        var touched: [ObserverNotice] = []
        let changes = group.changes
        for at in changes.indices {
            let reference = changes[at].object
            if reporter.hasObservers(of: reference.number) {
                let isWhole = changes[at].kind == .insert || changes[at].kind == .delete
                let slots = isWhole ? nil : changes[at].changed
                touched.append(
                    ObserverNotice(context: context, number: reference.number, slots: slots))
            }
            guard var record = graph[reference.number] else { continue }
            if record.reference.tag != reference.tag {
                graph.correct(reference)
                guard let corrected = graph[reference.number] else { continue }
                record = corrected
            }
            applyChanges(changes, at, into: record, version: group.versions[reference.number])
            failures.didLoad(record)
            let kind = changes[at].kind
            // The group does not contain the members of an object whose deletion it undoes.
            if group.isBackward, kind == .insert { record.forgetMembers() }
        }
        for (number, version) in group.versions.others {
            graph[number]?.advance(to: version)
        }
        for stored in related { graph.adopt(checked: stored) }
        failures.dropDoubtfulEdits()
        finish(group, verdicts, touched)
        logMerge(group, since: start)
    }

    private func finish(
        _ group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]],
        _ touched: [ObserverNotice]
    ) {
        participants.step(group, verdicts)
        // Saves are published before observers are notified, because an observer may cause the next
        // merge, whose saves have to follow.
        publishSaves(of: group)
        family.markReported(through: group.to, isOtherLog: group.isOtherLog)
        family.notify(family.drainNotices() + touched)
        if family.hasUnreportedNotices { reporter.postpone { [family] in family.notify([]) } }
        reporter.processPendingChanges()
        participants.deliver()
    }

    /// Publishes those saves of a group that were not reported before.
    private func publishSaves(of group: MergedGroup) {
        let payloads = family.payloads
        guard let session, payloads.hasSaveReaders else { return }
        payloads.describe { session.position($0) }
        for transaction in group.transactions where transaction.position > family.reported {
            payloads.publish(transaction, session.model)
        }
    }

    /// Applies the change at index `at` to a record.
    ///
    /// The parameter is the whole array, because a copy of the change would retain its contents.
    private func applyChanges(
        _ changes: [Change], _ at: Int, into record: ObjectRecord, version: UInt64?
    ) {
        guard changes[at].kind == .delete else {
            return record.apply(changes, at, version: version, position: merged)
        }
        editor.forgetUndo(of: record)
        // Child contexts are notified while the object still exists.
        for child in children { child.editor.discardEdits(of: changes[at].object.number) }
        record.delete()
        failures.recordDeletion(of: record)
        editor.removeEdited(record)
        record.dropPending()
    }

    /// Restarts the context at a position in a session: drops all loaded data and keeps the edits.
    func restart(in now: ServerState, at position: UInt64) {
        participants.deliver()
        let start = log?.now ?? 0
        participants.forEachList { $0.willDiscardData() }
        let from = merged
        let isOtherLog = !pins.isSameLog(now)
        let missed = missed(now, at: position)
        if missed?.left(after: isOtherLog ? 0 : family.reported) != nil {
            family.payloads.interrupt()
        }
        for record in graph where record.object != nil { reporter.touch(record, .invalidation) }
        let before = session?.model
        family.deferNotices()
        family.enter(now, at: position)
        if let before, before !== now.model {
            graph.rebind(ModelTranslation(from: before, to: now.model))
        }
        for record in graph { record.fault(at: merged) }
        graph.removeAll(where: \.isIdle)
        var group = MergedGroup(restartFrom: from, at: merged, missed: missed)
        group.isOtherLog = isOtherLog
        finish(
            group, [:],
            reporter.observedNumbers.map {
                ObserverNotice(context: context, number: $0, slots: nil)
            })
        logMerge(group, since: start)
    }

    /// Returns the saves that a restart at a position skips, or nil if it skips none.
    ///
    /// The installation of a model does not count as a save.
    private func missed(_ now: ServerState, at position: UInt64) -> SaveGap? {
        guard let session else { return nil }
        let all = SaveGap(after: session.position(merged), through: now.position(position))
        if pins.isSameLog(now), position <= merged { return nil }
        // The ring can't contain all transactions up to a position after the session's position.
        guard session.generation == now.generation, position <= now.position,
            case .transactions(let skipped) = connection.recent(
                after: merged, through: position, generation: now.generation)
        else { return all }
        let isSave = { (content: Transaction.Content) in
            if case .model = content { false } else { true }
        }
        return skipped.contains { isSave($0.content) } ? all : nil
    }

    private func logMerge(_ group: MergedGroup, since start: UInt64) {
        guard let log, log.logs(.merge) else { return }
        let parts = [
            ("position", "\(group.to)"), ("after", "\(group.from)"),
            ("transactions", "\(group.transactions.count)"), ("objects", "\(group.changes.count)"),
            ("listeners", "\(participants.all.count)"),
        ]
        let anew = group.isRestart ? [("anew", "yes")] : []
        log.add(.merge, context.name, since: start, parts + anew)
    }
}
