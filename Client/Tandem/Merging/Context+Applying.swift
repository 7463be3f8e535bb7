import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Applies a group to the rows, lets all participants step, and then lets them deliver.
    ///
    /// `related` contains rows that were checked with ``checkRows(_:)``.
    func apply(
        _ group: MergedGroup, verdicts: [ObjectIdentifier: [Verdict]],
        related: [StoredObject] = []
    ) {
        deliver()
        guard session != nil, group.to >= merged else { return }
        let start = debug?.now ?? 0
        touch(group, besides: inFlightSave)
        familyState.holdNotices()
        advance(to: group.to)
        completeInFlightSave(from: group)
        var touched: [ObserverNotice] = []
        let changes = group.changes
        for at in changes.indices {
            let reference = changes[at].object
            if hasObservers(of: reference.number) {
                let isWhole = changes[at].kind == .insert || changes[at].kind == .delete
                let slots = isWhole ? nil : changes[at].changed
                touched.append(
                    ObserverNotice(context: self, number: reference.number, slots: slots))
            }
            guard var record = records[reference.number] else { continue }
            if record.reference.tag != reference.tag {
                correct(reference)
                guard let corrected = records[reference.number] else { continue }
                record = corrected
            }
            applyChanges(changes, at, into: record, version: group.versions[reference.number])
            didLoad(record)
            let kind = changes[at].kind
            // Undoing a deletion does not tell which members the object had.
            if group.isBackward, kind == .insert { record.forgetMembers() }
        }
        for (number, version) in group.versions.others {
            guard let record = records[number], record.row != nil || record.version != 0 else {
                continue
            }
            record.version = version
        }
        for stored in related { adopt(checked: stored) }
        dropDoubtfulEdits()
        finish(group, verdicts, touched)
        trace(group, since: start)
    }

    /// Marks everything up to a position as merged.
    func advance(to position: UInt64) {
        guard let session, position >= merged else { return }
        merged = position
        if position > session.position { familyState.session?.position = position }
    }

    private func finish(
        _ group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]],
        _ touched: [ObserverNotice]
    ) {
        let all = participants.compactMap(\.value)
        for participant in all { participant.step(group, verdicts[ObjectIdentifier(participant)]) }
        undelivered = all
        // Published before observers are notified, because they may cause the next merge, whose
        // saves have to follow these.
        if let session, payloads.hasListeners {
            payloads.describe { session.position($0) }
            for transaction in group.transactions where transaction.position > familyState.told {
                payloads.publish(transaction, session.model)
            }
        }
        familyState.told = group.isOtherLog ? group.to : max(familyState.told, group.to)
        familyState.notify(familyState.drainNotices() + touched)
        if familyState.hasUnreportedNotices { postpone { [familyState] in familyState.notify([]) } }
        processPendingChanges()
        deliver()
    }

    /// Calls `deliver()` of all participants that stepped.
    ///
    /// A nested merge first completes the delivery of the merge around it.
    func deliver() {
        while !undelivered.isEmpty { undelivered.removeFirst().deliver() }
    }

    /// Applies the change at index `at` to a record.
    ///
    /// The parameter is the whole array, because a copy of the change would retain its contents.
    private func applyChanges(
        _ changes: [Change], _ at: Int, into record: ObjectRecord, version: UInt64?
    ) {
        switch changes[at].kind {
        case .insert:
            record.row = changes[at].row
            record.version = version ?? merged
            record.isMissing = false
            record.ranks.removeAll()
            for slot in record.entity.toManySlots { record.members[slot] = [] }
        case .update:
            // The connection subscribes to every pushed entity, so the row stays as current as one
            // that was read.
            record.row = changes[at].row
            if let version { record.version = version }
        case .touch: break
        case .delete:
            undoStack.forget(record)
            // Child contexts are notified while the object still exists.
            for child in children { child.value?.discardEdits(of: changes[at].object.number) }
            record.fault()
            record.isMissing = true
            recordDeletion(of: record)
            edited.remove(record)
            record.pending = Edits()
            return
        }
        if !record.members.isEmpty { applyLinks(changes[at], into: record) }
    }

    /// Applies added and removed members to the relationships whose members are held.
    ///
    /// The members of a changed relationship are dropped if the change does not list its links.
    private func applyLinks(_ change: Change, into record: ObjectRecord) {
        let toMany = record.members.keys.filter { change.changed.contains($0) }
        for slot in toMany where !change.links.contains(where: { $0.slot == slot }) {
            guard change.kind != .insert else { continue }
            record.members[slot] = nil
            record.ranks[slot] = nil
        }
        for link in change.links where record.members[link.slot] != nil {
            if link.isAdded {
                record.members[link.slot]?.insert(link.target)
            } else {
                record.members[link.slot]?.remove(link.target)
            }
            guard let rank = link.rank else { continue }
            record.ranks[link.slot, default: [:]][link.target] = link.isAdded ? rank : nil
        }
    }

    /// Restarts the context at a position of the session: drops all loaded data and keeps the
    /// edits.
    func restart(in now: ServerState, at position: UInt64) {
        deliver()
        let start = debug?.now ?? 0
        for participant in participants { participant.list?.noteLoss() }
        let from = merged
        let isOtherLog = !isHere(now)
        let missed = missed(now, at: position)
        if missed?.left(after: isOtherLog ? 0 : familyState.told) != nil { payloads.interrupt() }
        for record in records where record.object != nil { touch(record, .invalidation) }
        let before = session?.model
        familyState.holdNotices()
        session = now
        merged = position
        if let before, before !== now.model {
            rebind(ModelTranslation(from: before, to: now.model))
        }
        for record in records { record.fault(at: merged) }
        records.removeAll(where: \.isIdle)
        var group = MergedGroup(restartFrom: from, at: merged, missed: missed)
        group.isOtherLog = isOtherLog
        finish(
            group, [:],
            observedNumbers.map { ObserverNotice(context: self, number: $0, slots: nil) })
        trace(group, since: start)
    }

    /// Returns the saves that a restart at a position skips, or nil if it skips none.
    ///
    /// The installation of a model does not count as a save.
    private func missed(_ now: ServerState, at position: UInt64) -> SaveGap? {
        guard let session else { return nil }
        let all = SaveGap(after: session.position(merged), through: now.position(position))
        if isHere(now), position <= merged { return nil }
        // The ring does not have all transactions after the session's position yet.
        guard session.generation == now.generation, position <= now.position,
            case .transactions(let skipped) = connection.recent(
                after: merged, through: position, generation: now.generation)
        else { return all }
        let isSave = { (content: Transaction.Content) in
            if case .model = content { false } else { true }
        }
        return skipped.contains { isSave($0.content) } ? all : nil
    }

    /// Moves the records that have objects or edits to another model.
    ///
    /// Entities and properties are matched by their names and their former names.
    private func rebind(_ translation: ModelTranslation) {
        let place = translation.subject
        undoStack.clear()
        // Edited objects are retained until all records have moved, because their deinitialisers
        // may run arbitrary code.
        let held = edited.objects
        for old in records {
            let number = old.reference.number
            records[number] = nil
            if old.isIdle {
                old.isMissing = true
            } else if let entity = translation.entity(old.entity) {
                let reference = ObjectReference(tag: entity.tag, number: number)
                let record = ObjectRecord(reference, entity)
                record.isMissing = old.isMissing
                record.version = old.version
                record.base = old.base
                records[number] = record
                replace(old, by: record, translation, in: place)
            } else {
                discardRemoved(old, in: place)
            }
        }
        // The in-flight save has to refer to the new records.
        if let records = inFlightSave?.records {
            inFlightSave?.records = records.map { self.records[$0.reference.number] ?? $0 }
        }
        for child in children { child.value?.rebind(translation) }
        withExtendedLifetime(held) {}
    }

    /// Replaces a record by one of another entity or model, which takes over its object and edits.
    ///
    /// Edits that do not exist in `place` are recorded as dropped.
    func replace(
        _ old: ObjectRecord, by record: ObjectRecord, _ translation: ModelTranslation,
        in place: String
    ) {
        edited.remove(old)
        failedReads.move(old, to: record, translation)
        let lost = record.adopt(old, translation)
        droppedEdits.record(lost.pending, in: place)
        inFlightSave?.lost.record(lost.inFlight, in: place)
        if !record.pending.isEmpty { edited.add(object(of: record)) }
    }

    /// Discards a record whose entity was removed with all its objects.
    ///
    /// The edits are recorded as dropped, unless they delete the object.
    private func discardRemoved(_ old: ObjectRecord, in place: String) {
        let name: Set = [old.entity.name]
        if !old.pending.isEmpty, old.pending.kind != .delete {
            droppedEdits.record(name, in: place)
        }
        if !old.inFlight.isEmpty, old.inFlight.kind != .delete {
            inFlightSave?.lost.record(name, in: place)
        }
        edited.remove(old)
        old.pending = Edits()
        old.fault()
        old.isMissing = true
        recordDeletion(of: old)
        notifyObservers(of: old.reference.number)
    }
}

extension ObjectRecord {
    /// Takes over the object and edits of a record of another entity or model, matched by property
    /// name.
    ///
    /// Returns the names of the edited properties that do not exist in this record's entity.
    fileprivate func adopt(
        _ old: ObjectRecord, _ translation: ModelTranslation
    ) -> (pending: Set<String>, inFlight: Set<String>) {
        let moved = [old.pending, old.inFlight, Edits(values: old.seen)].map {
            translation.edits($0, of: old.entity, in: entity)
        }
        (pending, inFlight, seen) = (moved[0].edits, moved[1].edits, moved[2].edits.values)
        pins = old.pins
        object = old.object
        old.object?.rebind(to: self)
        return (moved[0].lost, moved[1].lost)
    }
}
