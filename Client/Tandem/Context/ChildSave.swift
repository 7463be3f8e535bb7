import TandemModel
import TandemWire

/// The save of a child context, which moves its edits into the parent.
struct ChildSave: ContextPart {
    let context: ManagedObjectContext

    /// Moves all edits into the parent, or none if an error is thrown.
    ///
    /// Sends requests only for data that validation reads.
    func save(
        _ options: SaveOptions, into parent: ManagedObjectContext, _ calls: DaemonCalls
    ) async throws -> Position {
        require(
            options.saveID == nil && options.author == nil && options.contentHash == nil,
            "A child context saves into its parent; pass ids and authors to the save of the root context."
        )
        while true {
            let before = try await connectedSession(calls)
            reporter.processPendingChanges()
            try editor.checkDroppedEdits()
            let valid = try validator.validRecords()
            // Reads during validation may have moved the context to a different model.
            guard session?.model === before.model else { continue }
            // Those reads may also have merged deletions, which discard the edits to the deleted
            // objects.
            let records = valid.filter { !$0.pending.isEmpty }
            let conflicts = records.filter { $0.isInConflict && !$0.pending.isPredicted }
            let policy = options.policy ?? context.mergePolicy
            if policy == .error, !conflicts.isEmpty { throw self.error(conflicts, before) }
            let parentSave = ParentSave(parent: parent, policy: policy)
            parent.editor.undoGroup { parentSave.apply(records) }
            forgetEdits(of: records)
            return before.position(merged)
        }
    }

    /// Removes the pending edits from records, so that the parent's values become visible.
    private func forgetEdits(of records: [ObjectRecord]) {
        editor.clearUndo()
        for record in records {
            editor.removeEdited(record)
            record.dropPending(base: parent?.graph.object(record.reference))
            reporter.notifyObservers(of: record.reference.number)
        }
        listUpdater.didEndEdits(of: records)
    }

    private func error(_ conflicts: [ObjectRecord], _ session: ServerState) -> TandemError {
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
    /// Whether the object was edited or deleted in the parent after its first edit in the child.
    fileprivate var isInConflict: Bool {
        guard let base else { return false }
        // Deletions on both sides do not conflict.
        if base.record.isDeleted { return pending.kind != .delete }
        return base.record.editedValues.contains { seen[$0.key] != $0.value }
    }
}

/// Applies a child's edits to its parent, and resolves conflicts by a policy.
private struct ParentSave {
    let parent: ManagedObjectContext
    let policy: MergePolicy

    /// Applies the pending edits of these records.
    ///
    /// New objects are inserted first, because other objects may refer to them. Deletions are
    /// applied last.
    func apply(_ records: [ObjectRecord]) {
        let news = records.filter { $0.pending.kind == .insert }
        for record in news {
            parent.editor.insert(childsObject: record.reference, record.entity)
        }
        let wanted = records.filter {
            // The parent predicts the effects of delete rules itself.
            $0.pending.kind != .insert && !$0.pending.isPredicted && isWanted($0)
        }
        let changed = (news + wanted).filter { $0.pending.kind != .delete }
        for record in changed { change(record) }
        // Ranks are set after all members have been added.
        for record in changed { placeMembers(of: record) }
        for record in wanted where record.pendingKind == .delete {
            parent.editor.delete(parent.graph.record(record.reference))
        }
    }

    private func isWanted(_ record: ObjectRecord) -> Bool {
        guard record.isInConflict else { return true }
        switch policy {
        case .error, .rollback: return false
        case .storeTrump: return record.pendingKind != .delete && !record.isGone
        case .objectTrump, .overwrite: return !record.isGone
        }
    }

    private func change(_ record: ObjectRecord) {
        let mine = parent.graph.record(record.reference)
        // Setting a value also updates the folded strings derived from it.
        for (slot, value) in record.sentValues {
            if policy == .storeTrump, record.isOutdated(slot) { continue }
            parent.editor.set(present(value), slot, of: mine)
        }
        for property in record.entity.properties {
            // All other links have a to-one end, whose value was set above.
            guard let relationship = property.relationship, relationship.toMany,
                relationship.inverseToMany
            else { continue }
            for member in (record.pending.removed[property.slot] ?? []).sorted() {
                parent.editor.remove(parent.graph.record(member), from: property.slot, of: mine)
            }
            for member in (record.pending.added[property.slot] ?? []).sorted()
            where !parent.graph.record(member).isDeleted {
                parent.editor.add(parent.graph.record(member), to: property.slot, of: mine)
            }
        }
    }

    private func placeMembers(of record: ObjectRecord) {
        let mine = parent.graph.record(record.reference)
        for (slot, places) in record.pending.ranks {
            let members = parent.graph.members(of: mine, slot)
            parent.editor.place(
                places.filter { members?.contains($0.key) ?? true }, slot, of: mine)
        }
    }

    /// Returns the value, or null if it refers to an object that the parent has deleted.
    private func present(_ value: PropertyValue) -> PropertyValue {
        guard let target = value.reference, parent.graph.record(target).isDeleted else {
            return value
        }
        return .null
    }
}
