public import TandemModel

/// The base, local and stored values of an object for which a save was refused.
public struct ConflictDetails: Hashable, Sendable {
    /// The object.
    public var object: ObjectID
    /// The values on which the edits are based.
    public var base: [String: Value]
    /// The values including the edits.
    public var ours: [String: Value]
    /// The values in the store, or nil if the object was deleted there.
    public var theirs: [String: Value]?
}

extension ManagedObjectContext {
    /// Returns the conflicts in an error that ``save(policy:saveID:author:)`` threw, value by
    /// value.
    ///
    /// Call this before the edits are rolled back or merged over.
    public func details(of error: TandemError) -> [ConflictDetails] {
        error.conflicts.compactMap { conflict in
            guard let model = session?.model,
                let entity = model.entity(tagged: conflict.object.tag)
            else { return nil }
            let record = record(conflict.object)
            func named(_ value: (Int) -> Value?) -> [String: Value] {
                var result: [String: Value] = [:]
                for property in entity.properties where !property.isToMany {
                    result[property.name] = value(property.slot)
                }
                return result
            }
            let theirs = conflict.theirs.flatMap { $0.isValid(for: entity) ? $0 : nil }
            return ConflictDetails(
                object: model.id(of: conflict.object), base: named { record.baseValue($0) },
                ours: named { record.value($0) },
                theirs: theirs.map { row in named { row.uncheckedValue($0, in: entity) } })
        }
    }
}
