public import TandemModel
import TandemWire

/// The daemon's answer to a save.
public struct SaveReceipt: Hashable, Sendable {
    /// The position of the save's transaction.
    ///
    /// For a retry it is the position of the first save. If nothing was written, it is the
    /// journal's end.
    public var position: Position
    /// Whether this save wrote a transaction.
    public var wrote: Bool
    /// Whether the daemon already knew the save by its id.
    public var isRepeat: Bool
    /// The outcomes of the inserts, in order: new objects, or existing ones that took their places.
    ///
    /// Nil for an insert that the same save deleted.
    public var inserted: [ObjectID?]

    init(_ saved: SaveAnswer, _ session: ServerState) {
        position = session.position(saved.position)
        wrote = saved.wrote
        isRepeat = saved.isRepeat
        inserted = saved.inserted.map { $0.map { session.model.id(of: $0) } }
    }
}

extension ManagedObjectContext {
    /// Returns the answer to an earlier save with an id, or nil if the daemon knows none.
    ///
    /// The save may come from any process of the same user. The context merges up to it. Call this
    /// before repeating the edits of a save: once the save has happened, the edits may no longer be
    /// applicable.
    /// - Parameters:
    ///   - saveID: The id of that save.
    ///   - contentHash: The content hash of that save.
    /// - Returns: The first answer, or nil.
    /// - Throws: `usage` if the id was used with another hash; `unknownOutcome` if the connection
    ///   was lost.
    public func receipt(ofSave saveID: [UInt8], contentHash: StableHash) throws -> SaveReceipt? {
        checkSaveID(saveID)
        return try blocking { calls in
            let model = try await connectedSession(calls).model
            let question = SaveRequest(
                saveID: saveID, contentHash: contentHash, context: name,
                modelVersion: model.version, operations: [], onlyAsks: true)
            let saved: SaveAnswer = try await calls.answer(to: .save(question)) {
                if case .saved(let saved) = $0 { saved } else { nil }
            }
            guard saved.isRepeat else { return nil }
            try await merge(through: saved.position, calls)
            return session.map { SaveReceipt(saved, $0) }
        }
    }

    /// Forgets a save whose outcome is unknown, instead of retrying it before the next one.
    ///
    /// Its edits are dropped. Whether it happened becomes visible when the objects are read or its
    /// transaction is merged.
    public func forgetInFlightSave() {
        guard let save = inFlightSave, save.isUnknown else { return }
        inFlightSave = nil
        let interests = connection.interests
        for record in save.records {
            clearInFlight(record, isHeld: interests.contains(record.reference.tag))
            // The deletion may not have happened; the next read of the store decides.
            if record.row == nil { record.isMissing = false }
        }
    }
}
