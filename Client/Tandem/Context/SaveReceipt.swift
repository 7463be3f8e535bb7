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
    /// What the inserts became, in the order of insertion: new objects, or existing ones that took their places.
    ///
    /// Nil for an insert that the same save deleted.
    public var inserted: [ObjectID?]

    init(_ saved: Saved, _ session: Session) {
        position = session.position(saved.position)
        wrote = saved.wrote
        isRepeat = saved.isRepeat
        inserted = saved.inserted.map { $0.map { session.model.id(of: $0) } }
    }
}

extension ManagedObjectContext {
    /// What was answered to an earlier save under an id, by whatever process of the same user; nil when the daemon knows none.
    ///
    /// The context merges up to that save. Ask before doing the edits of a save again: once it has happened they may no longer fit the graph.
    /// - Parameters:
    ///   - saveID: The id of that save.
    ///   - contentHash: What that save was given.
    /// - Returns: The first answer, or nil.
    /// - Throws: `usage` if the id was used with another hash; `unknownOutcome` if the connection broke.
    public func receipt(ofSave saveID: [UInt8], contentHash: StableHash) throws -> SaveReceipt? {
        checkSaveID(saveID)
        return try sessionStep().then { session in
            let question = SaveRequest(
                saveID: saveID, contentHash: contentHash, context: self.name,
                modelVersion: session.model.version, operations: [], onlyAsks: true)
            return .ask(.save(question)) { message -> Saved? in
                if case .saved(let saved) = message { saved } else { nil }
            } then: { saved in
                guard saved.isRepeat else { return .done(nil) }
                return try self.mergeStep(through: saved.position).then { _ in
                    .done(self.session.map { SaveReceipt(saved, $0) })
                }
            }
        }.run(on: connection)
    }

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
