public import TandemModel
import TandemWire

/// What the daemon answered to a save.
public struct SaveReceipt: Hashable, Sendable {
    /// The place of the save's transaction; in a repeat that of the first save, the journal's end when nothing was written.
    public var position: Position
    /// Whether this save wrote a transaction.
    public var wrote: Bool
    /// Whether the save was known under its id already.
    public var isRepeat: Bool
    /// The objects that the inserts stand for, in the order of insertion.
    public var inserted: [ObjectID]

    init(_ saved: Saved, _ session: Session) {
        position = session.position(saved.position)
        wrote = saved.wrote
        isRepeat = saved.isRepeat
        inserted = saved.inserted.map { session.model.id(of: $0) }
    }
}

extension ManagedObjectContext {
    /// Forgets a save whose outcome is unknown instead of repeating it before the next one.
    ///
    /// Its edits are gone; whether it happened shows when the objects are read or its transaction is merged.
    public func forgetUnansweredSave() {
        guard let save = unanswered, save.isUnknown else { return }
        unanswered = nil
        let interests = connection.interests
        for record in save.records {
            clearInFlight(record, isHeld: interests.contains(record.reference.tag))
            // A deletion that may not have happened is judged by the store.
            if record.row == nil { record.isMissing = false }
        }
    }
}
