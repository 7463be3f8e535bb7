import Tandem

/// The unique keys, at one position, of the objects to which an entity's relationships refer.
struct ExportKeys {
    private let model: CompiledModel
    /// The constraint whose keys identify the destination objects, by relationship.
    private var constraints: [String: CompiledIndex] = [:]
    private var keys: [UInt16: [ObjectID: UniqueKey]] = [:]

    /// Reads the unique keys of the destinations; relationships with the same constraint share one
    /// read.
    @MainActor init(
        _ entity: CompiledEntity, _ model: CompiledModel, _ context: ManagedObjectContext,
        at position: Position
    ) throws {
        self.model = model
        for property in entity.properties {
            guard let destination = property.relationship?.destination,
                let target = model.entity(tagged: destination),
                let constraint = UniqueKey.constraints(of: target).first
            else { continue }
            constraints[property.name] = constraint
            if keys[constraint.id] == nil {
                keys[constraint.id] =
                    try UniqueKeys(constraint, model, context, at: position).keys
            }
        }
    }

    /// Returns the unique key of an object to which a relationship refers, or nil if the object has
    /// none.
    func json(_ relationship: String, _ id: ObjectID) -> JSON? {
        guard let constraint = constraints[relationship] else { return nil }
        return keys[constraint.id]?[id]?.json(constraint, model)
    }
}
