import TandemModel

extension ManagedObjectContext {
    /// Creates a child context for editing, which saves into this context and runs on its actor.
    ///
    /// The child shows the content of this context, including unsaved edits, with its own edits on
    /// top. Merges and edits of this context appear in the child at once.
    /// ``save(policy:saveID:author:contentHash:)`` of the child moves its edits into this context,
    /// as one step of ``undo()``, and writes nothing to the store. Releasing the child drops its
    /// edits. Child contexts can have children.
    ///
    ///     let form = context.makeChild(name: "form")
    ///     let team = try form.existingObject(with: id)
    ///     team["name"] = .string("Cameroon")     // visible only in `form`
    ///     try form.save()                        // visible in `context`
    ///     try context.save()                     // visible in all contexts
    ///
    /// - Parameter name: A name for messages; the journal lists saves under the name of the root
    ///   context.
    /// - Returns: A context without edits and with the same merge policy; it retains this context.
    public func makeChild(name: String) -> ManagedObjectContext {
        ManagedObjectContext(child: name, of: self)
    }

    /// The root context, which sends requests, merges, and saves into the store.
    var root: ManagedObjectContext {
        var context = self
        while let parent = context.parent { context = parent }
        return context
    }

    /// This context and its ancestors, the root last.
    var lineage: [ManagedObjectContext] { [self] + (parent?.lineage ?? []) }

    /// Whether this context or an ancestor has edits.
    var hasEdits: Bool { !edited.isEmpty || inFlightSave != nil || parent?.hasEdits ?? false }

    /// The records whose edits do not exist in the layer below.
    var editedRecords: [ObjectRecord] {
        edited.objects.map(\.record) + (inFlightSave?.records ?? [])
    }

    // MARK: Changes below

    /// Notifies the observers of an object in child contexts, which show its values below their
    /// edits.
    func notifyChildren(of number: ObjectNumber, _ slots: PropertyMask?) {
        for child in children.compactMap(\.value) {
            if let record = child.records[number] { child.touch(record, .refresh) }
            child.notifyObservers(of: number, slots)
        }
    }

    /// Drops the edits of an object that others deleted.
    func discardEdits(of number: ObjectNumber) {
        if let record = records[number] {
            undoStack.forget(record)
            discard(record)
        }
        for child in children { child.value?.discardEdits(of: number) }
    }

    /// Applies the outcome of an insert whose new object was replaced by an existing one or
    /// discarded.
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
            didEdit(lost)
            notifyObservers(of: lost.number)
        }
        for child in children { child.value?.follow(lost, to: outcome) }
    }
}

extension ObjectRecord {
    /// Records the values that the parent had edited before the first edit of this record.
    func recordSeen() { seen = base?.record.editedValues ?? SlotValues() }

    /// The values edited in this context, pending or in flight.
    var editedValues: SlotValues {
        var values = inFlight.values
        values.merge(pending.values)
        return values
    }

    /// Returns whether the parent has edited a value since this record was first edited.
    func isOutdated(_ slot: Int) -> Bool {
        guard let theirs = base?.record.editedValues[slot] else { return false }
        return theirs != seen[slot]
    }

    /// Returns the value that the edits are based on, or nil if it is not loaded.
    func baseValue(_ slot: Int) -> Value? {
        guard let base else { return committedValue(slot) }
        return seen[slot] ?? base.record.committedValue(slot)
    }

    /// The position of the save that last changed the row, or 0 if the row is not loaded.
    var rootVersion: UInt64 { base?.record.rootVersion ?? (row == nil ? 0 : version) }
}

/// A weak reference to a child context.
struct WeakContext {
    weak var value: ManagedObjectContext?
}
