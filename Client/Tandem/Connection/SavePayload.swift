public import TandemModel

/// The effects of a save, as delivered to every process.
///
///     for try await payload in container.didSave { print(payload.position, payload.author) }
public struct SavePayload: Sendable {
    /// A changed object with the names of its changed properties.
    public struct Update: Hashable, Sendable {
        /// The object's id.
        public var object: ObjectID
        /// The names of the changed properties, in the order of slots.
        public var changed: [String]
    }

    /// The position of the save in the journal.
    public var position: Position
    /// The wall-clock time of the save, in microseconds since 1970.
    public var time: Int64
    /// The origin of the save: the self-declared author, the context's name, and the process as
    /// reported by the kernel.
    public var principal: Principal
    /// The new objects.
    public var inserted: [ObjectID]
    /// The objects whose values or relationships changed.
    public var updated: [Update]
    /// The deleted objects.
    public var deleted: [ObjectID]
    /// All changes, with the rows before and after.
    package var transaction: Transaction
    /// The model of the save.
    let model: CompiledModel

    /// The self-declared name of the process that saved.
    public var author: String { principal.author }
    /// The name of the context that saved.
    public var context: String { principal.context }

    init(_ transaction: Transaction, _ model: CompiledModel, _ position: Position) {
        self.transaction = transaction
        self.position = position
        self.model = model
        time = transaction.time
        principal = transaction.principal
        inserted = []
        updated = []
        deleted = []
        for change in transaction.changes {
            let id = model.id(of: change.object)
            switch change.kind {
            case .insert: inserted.append(id)
            case .delete: deleted.append(id)
            case .update, .touch:
                let entity = model.entity(tagged: change.object.tag)
                updated.append(Update(object: id, changed: entity.map(change.names) ?? []))
            }
        }
    }
}
