import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Takes a group into the rows, lets everyone step, then everyone deliver.
    ///
    /// `related` are rows that were checked (``checkRows(_:)``).
    func apply(
        _ group: MergedGroup, verdicts: [ObjectIdentifier: [Verdict]],
        related: [StoredObject] = []
    ) {
        deliver()
        guard session != nil, group.to >= merged else { return }
        let start = debug?.now ?? 0
        touch(group, besides: unanswered)
        standing.holdNotices()
        advance(to: group.to)
        settleUnanswered(with: group)
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
            take(changes, at, into: record, version: group.versions[reference.number])
            noteLoaded(record)
            let kind = changes[at].kind
            // What is taken back says nothing of the members that the object had.
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
        tell(group, since: start)
    }

    /// Notes that everything up to a position is merged.
    func advance(to position: UInt64) {
        guard let session, position >= merged else { return }
        merged = position
        if position > session.position { standing.session?.position = position }
    }

    private func finish(
        _ group: MergedGroup, _ verdicts: [ObjectIdentifier: [Verdict]],
        _ touched: [ObserverNotice]
    ) {
        let all = participants.compactMap(\.value)
        for participant in all { participant.step(group, verdicts[ObjectIdentifier(participant)]) }
        undelivered = all
        // Before anybody is told who may cause the next merge: its saves come behind these.
        if let session, payloads.hasListeners {
            payloads.describe { session.position($0) }
            for transaction in group.transactions where transaction.position > standing.told {
                payloads.publish(transaction, session.model)
            }
        }
        standing.told = group.isOtherLog ? group.to : max(standing.told, group.to)
        standing.tell(standing.drainNotices() + touched)
        if standing.hasUnreportedNotices { postpone { [standing] in standing.tell([]) } }
        processPendingChanges()
        deliver()
    }

    /// Lets everyone deliver who stepped; a nested merge first completes the one around it.
    func deliver() {
        while !undelivered.isEmpty { undelivered.removeFirst().deliver() }
    }

    /// Takes in the change at a place of all; a copy of it would count references.
    private func take(
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
            // What is pushed is followed from then on: the row is as good as one that was read.
            record.row = changes[at].row
            if let version { record.version = version }
        case .touch: break
        case .delete:
            undoStack.forget(record)
            // Children hear of it while the object is still there.
            for child in children { child.value?.giveUp(changes[at].object.number) }
            record.fault()
            record.isMissing = true
            recordDeletion(of: record)
            edited.remove(record)
            record.pending = Edits()
            return
        }
        if !record.members.isEmpty { takeLinks(changes[at], into: record) }
    }

    /// Applies gained and lost members where the list is held; a list whose links aren't named is dropped.
    private func takeLinks(_ change: Change, into record: ObjectRecord) {
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

    /// Starts anew at a position of the session: everything held is dropped, edits stay.
    func restart(in now: Session, at position: UInt64) {
        deliver()
        let start = debug?.now ?? 0
        for participant in participants { participant.value?.noteLoss() }
        let from = merged
        let isOtherLog = !isHere(now)
        let missed = missed(now, at: position)
        if missed?.left(after: isOtherLog ? 0 : standing.told) != nil { payloads.interrupt() }
        for record in records where record.object != nil { touch(record, .invalidation) }
        let before = session?.model
        standing.holdNotices()
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
        tell(group, since: start)
    }

    /// The saves that starting anew at a position leaves out, if any; a model that took effect is none.
    private func missed(_ now: Session, at position: UInt64) -> MissedSaves? {
        guard let session else { return nil }
        let all = MissedSaves(after: session.position(merged), through: now.position(position))
        if isHere(now), position <= merged { return nil }
        // Beyond the session's position the ring does not have all transactions yet.
        guard session.generation == now.generation, position <= now.position,
            case .transactions(let skipped) = connection.recent(
                after: merged, through: position, generation: now.generation)
        else { return all }
        let isSave = { (content: Transaction.Content) in
            if case .model = content { false } else { true }
        }
        return skipped.contains { isSave($0.content) } ? all : nil
    }

    /// Moves records with objects or edits to another model, by the names of entities and properties and what these were before.
    private func rebind(_ translation: ModelTranslation) {
        let place = translation.subject
        undoStack.clear()
        // Those without edits that are left go when all are moved, since their classes may run anything then.
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
                giveUp(old, in: place)
            }
        }
        // What is in flight has to be settled where it lies now.
        if let records = unanswered?.records {
            unanswered?.records = records.map { self.records[$0.reference.number] ?? $0 }
        }
        for child in children { child.value?.rebind(translation) }
        withExtendedLifetime(held) {}
    }

    /// Puts a record of another entity or model in the place of one, with its object and edits; notes what `place` has no place for.
    func replace(
        _ old: ObjectRecord, by record: ObjectRecord, _ translation: ModelTranslation,
        in place: String
    ) {
        edited.remove(old)
        failedReads.move(old, to: record, translation)
        let lost = record.takeOver(old, translation)
        lostEdits.note(lost.pending, in: place)
        unanswered?.lost.note(lost.inFlight, in: place)
        if !record.pending.isEmpty { edited.add(object(of: record)) }
    }

    /// Lets go of a record whose entity is gone with all its objects; who wanted it deleted has lost nothing.
    private func giveUp(_ old: ObjectRecord, in place: String) {
        let name: Set = [old.entity.name]
        if !old.pending.isEmpty, old.pending.kind != .delete { lostEdits.note(name, in: place) }
        if !old.inFlight.isEmpty, old.inFlight.kind != .delete {
            unanswered?.lost.note(name, in: place)
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
    /// Takes the place of a record of another entity or model: with its object and edits, by the names of properties.
    ///
    /// Gives the names of the properties that were edited there and are none here.
    fileprivate func takeOver(
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
