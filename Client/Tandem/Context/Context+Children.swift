import TandemModel

extension ManagedObjectContext {
    /// Makes a context for editing that saves into this one, and lives on its actor.
    ///
    /// It shows what this context shows, unsaved edits included, with its own edits on top; what is merged or edited here shows
    /// there at once. ``save(policy:saveID:author:contentHash:)`` of the child moves its edits into this context, as one
    /// step of ``undo()``, and writes nothing; letting go of the child drops them. Children may have children.
    ///
    ///     let form = context.makeChild(name: "form")
    ///     let team = try form.existingObject(with: id)
    ///     team["name"] = .string("Cameroon")     // nobody else sees it
    ///     try form.save()                        // now `context` does
    ///     try context.save()                     // now everybody does
    /// - Parameter name: A name for messages; the journal lists saves under that of the context without a parent.
    /// - Returns: A context without edits, of the same merge policy; it keeps this one.
    public func makeChild(name: String) -> ManagedObjectContext {
        ManagedObjectContext(child: name, of: self)
    }

    /// The context that has no parent: the one that asks, merges and saves into the store.
    var root: ManagedObjectContext {
        var context = self
        while let parent = context.parent { context = parent }
        return context
    }

    /// This context and all that it saves into, the root last.
    var lineage: [ManagedObjectContext] { [self] + (parent?.lineage ?? []) }

    /// Whether anything is edited here or in what this context saves into.
    var hasEdits: Bool { !edited.isEmpty || unanswered != nil || parent?.hasEdits ?? false }

    /// The records with edits that the layer below lacks.
    var editedRecords: [ObjectRecord] {
        edited.objects.map(\.record) + (unanswered?.records ?? [])
    }

    // MARK: What happened below

    /// Notifies the observers of an object in child contexts, which show its values below their edits.
    func noteInChildren(_ number: ObjectNumber, _ slots: PropertyMask?) {
        for child in children.compactMap(\.value) {
            if let record = child.records[number] { child.touch(record, .refresh) }
            child.notifyObservers(of: number, slots)
        }
    }

    /// Drops the edits of an object that others deleted.
    func giveUp(_ number: ObjectNumber) {
        if let record = records[number] {
            undoStack.forget(record)
            discard(record)
        }
        for child in children { child.value?.giveUp(number) }
    }

    /// Lets an object that became another one, or nothing, stand for that here, too.
    func follow(_ lost: ObjectReference, to outcome: ObjectReference?) {
        if let record = records[lost.number] {
            undoStack.forget(record)
            edited.remove(record)
            if let outcome {
                let existing = self.record(outcome)
                if !existing.hasEdits { existing.seen = record.seen }
                move(record, to: existing)
            }
            record.pending = Edits()
            noteEdit(lost)
            notifyObservers(of: lost.number)
        }
        for child in children { child.value?.follow(lost, to: outcome) }
    }
}

extension ObjectRecord {
    /// Notes what the parent has edited, when this record is edited first.
    func noteSeen() { seen = base?.record.editedValues ?? SlotValues() }

    /// The values that are edited here, saved or in flight.
    var editedValues: SlotValues {
        var values = inFlight.values
        values.merge(pending.values)
        return values
    }

    /// Whether the parent has edited a value since this record was first edited.
    func isOutdated(_ slot: Int) -> Bool {
        guard let theirs = base?.record.editedValues[slot] else { return false }
        return theirs != seen[slot]
    }

    /// The value that the edits are based on; nil when it isn't held.
    func baseValue(_ slot: Int) -> Value? {
        guard let base else { return committedValue(slot) }
        return seen[slot] ?? base.record.committedValue(slot)
    }

    /// The position of the save that last changed the row; 0 when it isn't held.
    var rootVersion: UInt64 { base?.record.rootVersion ?? (row == nil ? 0 : version) }
}

/// A context that its parent does not keep alive.
struct WeakContext {
    weak var value: ManagedObjectContext?
}
