public import TandemModel

/// What one save did, as every process hears of it.
///
///     for try await payload in container.didSave { print(payload.position, payload.author) }
public struct SavePayload: Sendable {
    /// An object that changed, and which of its properties did.
    public struct Update: Hashable, Sendable {
        /// The object.
        public var object: ObjectID
        /// The names of the properties that changed, in the order of slots.
        public var changed: [String]
    }

    /// The place of the save in the journal.
    public var position: Position
    /// Wall clock time of the save, microseconds since 1970.
    public var time: Int64
    /// Who saved: the self-declared name, the context's name, and what the kernel says of the process.
    public var principal: Principal
    /// The new objects.
    public var inserted: [ObjectID]
    /// The objects whose values or relationships changed.
    public var updated: [Update]
    /// The objects that are gone.
    public var deleted: [ObjectID]
    /// Everything that changed, with rows before and after.
    public var transaction: Transaction
    /// The model that it was made under.
    let model: CompiledModel

    /// The self-declared name of the saver.
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
