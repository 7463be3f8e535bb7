import TandemModel

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
