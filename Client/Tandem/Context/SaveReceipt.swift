package import TandemModel
import TandemWire

/// The daemon's answer to a save.
package struct SaveReceipt: Hashable, Sendable {
    /// The position of the save's transaction.
    ///
    /// For a retry it is the position of the first save. If nothing was written, it is the
    /// journal's end.
    package var position: Position
    /// Whether this save wrote a transaction.
    package var wrote: Bool
    /// Whether the daemon had already applied a save with this id.
    package var isRepeat: Bool
    /// The outcomes of the inserts, in order: new objects, or the existing ones that replaced them.
    ///
    /// Nil for an object that the same save inserted and deleted.
    package var inserted: [ObjectID?]

    init(_ saved: SaveAnswer, _ session: ServerState) {
        position = session.position(saved.position)
        wrote = saved.wrote
        isRepeat = saved.isRepeat
        inserted = saved.inserted.map { $0.map { session.model.id(of: $0) } }
    }
}
