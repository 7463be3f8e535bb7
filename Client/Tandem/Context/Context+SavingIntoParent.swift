import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Moves all edits into the parent, or none of them; nothing is asked but what validating reads.
    func saveStep(
        _ options: SaveOptions, into parent: ManagedObjectContext
    ) throws -> Step<Position> {
        precondition(
            options.saveID == nil && options.author == nil && options.contentHash == nil,
            "A child saves into its parent; ids and authors belong to the save of the context without a parent."
        )
        return try sessionStep().then { session in
            self.processPendingChanges()
            try self.checkLostEdits()
            let valid = try self.validRecords()
            // What validating read may have brought another model.
            guard self.session?.model === session.model else {
                return try self.saveStep(options, into: parent)
            }
            // It may also have brought deletions, which end the edits of their objects.
            let records = valid.filter { !$0.pending.isEmpty }
            let conflicts = records.filter { $0.isInConflict && !$0.pending.isPreview }
            let policy = options.policy ?? self.mergePolicy
            if policy == .error, !conflicts.isEmpty { throw self.error(conflicts, session) }
            let handover = Handover(parent: parent, policy: policy)
            parent.undoGroup { handover.take(records) }
            self.forgetEdits(of: records)
            return .done(session.position(self.merged))
        }
    }

    /// Lets the parent's values show through.
    private func forgetEdits(of records: [ObjectRecord]) {
        undoStack.clear()
        for record in records {
            edited.remove(record)
            if record.pending.kind == .insert { record.base = parent?.object(record.reference) }
            record.pending = Edits()
            record.seen = SlotValues()
            notifyObservers(of: record.reference.number)
        }
        noteEndOfEdits(of: records)
    }

    private func error(_ conflicts: [ObjectRecord], _ session: Session) -> TandemError {
        let names = conflicts.map { session.model.id(of: $0.reference).description }
        var error = TandemError(
            .conflict,
            "the parent context changed \(names.joined(separator: ", ")) meanwhile; roll back, or choose a merge policy"
        )
        error.conflicts = conflicts.map { record in
            let theirs = record.isGone ? nil : record.base?.record
            return MergeConflict(
                object: record.reference, baseVersion: record.rootVersion,
                theirs: theirs?.currentRow(modelVersion: session.model.version),
                theirsVersion: record.rootVersion)
        }
        return error
    }
}

extension ObjectRecord {
    /// Whether the parent has edited or deleted the object since it was first edited here.
    fileprivate var isInConflict: Bool {
        guard let base else { return false }
        // Both deleted it, and both are content.
        if base.record.isDeleted { return pending.kind != .delete }
        return base.record.editedValues.contains { seen[$0.key] != $0.value }
    }
}

/// Does in a parent what was edited in its child, conflicts settled by a policy.
private struct Handover {
    let parent: ManagedObjectContext
    let policy: MergePolicy

    /// New objects first, since others may lead to them, and deletions last.
    func take(_ records: [ObjectRecord]) {
        let news = records.filter { $0.pending.kind == .insert }
        for record in news { insert(record) }
        let wanted = records.filter {
            // What delete rules are expected to do is the parent's to show.
            $0.pending.kind != .insert && !$0.pending.isPreview && isWanted($0)
        }
        let changed = (news + wanted).filter { $0.pending.kind != .delete }
        for record in changed { change(record) }
        // Only now all members are there that any of them gives a place.
        for record in changed { placeMembers(of: record) }
        for record in wanted where record.pending.kind == .delete {
            parent.delete(parent.object(record.reference))
        }
    }

    private func isWanted(_ record: ObjectRecord) -> Bool {
        guard record.isInConflict else { return true }
        switch policy {
        case .error, .rollback: return false
        case .storeTrump: return record.pending.kind != .delete && !record.isGone
        case .objectTrump, .overwrite: return !record.isGone
        }
    }

    private func insert(_ record: ObjectRecord) {
        let new = parent.newRecord(record.reference, record.entity)
        // Undoing leads back to where there is no such object.
        new.isMissing = true
        parent.edit(new) { edits in
            edits.kind = .insert
            for slot in record.entity.derived where !record.entity.defaults[slot].isNull {
                edits.values[slot] = record.entity.defaults[slot]
            }
        }
        new.isMissing = false
    }

    private func change(_ record: ObjectRecord) {
        let mine = parent.record(record.reference)
        // Folded texts follow there too.
        for (slot, value) in record.sentValues {
            if policy == .storeTrump, record.isOutdated(slot) { continue }
            parent.set(present(value), slot, of: mine)
        }
        for property in record.entity.properties {
            // Where one end leads to one object, that end is the truth.
            guard let relationship = property.relationship, relationship.toMany,
                relationship.inverseToMany
            else { continue }
            for member in (record.pending.removed[property.slot] ?? []).sorted() {
                parent.remove(parent.record(member), from: property.slot, of: mine)
            }
            for member in (record.pending.added[property.slot] ?? []).sorted()
            where !parent.record(member).isDeleted {
                parent.add(parent.record(member), to: property.slot, of: mine)
            }
        }
    }

    private func placeMembers(of record: ObjectRecord) {
        let mine = parent.record(record.reference)
        for (slot, places) in record.pending.ranks {
            let members = parent.members(of: mine, slot)
            parent.place(
                places.filter { members?.contains($0.key) ?? true }, slot, of: mine)
        }
    }

    /// A value, null for an object that the parent deleted meanwhile.
    private func present(_ value: Value) -> Value {
        guard let target = value.reference, parent.record(target).isDeleted else { return value }
        return .null
    }
}
