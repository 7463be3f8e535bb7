public import TandemModel

/// The base, local and stored values of an object that caused a save conflict.
public struct ConflictDetails: Hashable, Sendable {
    /// The object.
    public var object: ObjectID
    /// The values on which the edits are based.
    public var base: [String: PropertyValue]
    /// The values including the edits.
    public var ours: [String: PropertyValue]
    /// The values in the store, or nil if the object was deleted there.
    public var theirs: [String: PropertyValue]?
}

extension ConflictDetails {
    /// Creates the details of a conflict of a save; nil if the model no longer has the entity.
    init?(_ conflict: MergeConflict, in context: ManagedObjectContext) {
        guard let model = context.session?.model,
            let entity = model.entity(tagged: conflict.object.tag)
        else { return nil }
        func named(_ value: (Int) -> PropertyValue?) -> [String: PropertyValue] {
            var result: [String: PropertyValue] = [:]
            for property in entity.properties where !property.isToMany {
                result[property.name] = value(property.slot)
            }
            return result
        }
        let record = context.graph.record(conflict.object)
        object = model.id(of: conflict.object)
        base = named { record.baseValue($0) }
        ours = named { record.value($0) }
        theirs = conflict.theirs.flatMap { $0.isValid(for: entity) ? $0 : nil }
            .map { row in named { row.uncheckedValue($0, in: entity) } }
    }
}
