import Tandem

/// A lookup of the current names of entities and properties in transactions of any age.
///
/// `blame`, `show` and `diff` combine transactions with different models, and need one name for
/// each property. An entity or property that is no longer in the newest model keeps its last name.
final class CurrentNames {
    private let source: any LogSource
    private let newest: CompiledModel?
    /// The current names of each entity's properties, by entity and model.
    private var known: [EntityKey: PropertyNames] = [:]

    private struct EntityKey: Hashable {
        var version: UInt16
        var tag: EntityTag
    }

    /// Reads the newest model of a journal.
    init(_ source: any LogSource) throws {
        self.source = source
        newest = try source.newestModel()
    }

    /// Returns the entity in the newest model, or nil if it no longer exists.
    func entity(_ tag: EntityTag) -> CompiledEntity? { newest?.entity(tagged: tag) }

    /// Returns the current id of an object that occurs in a transaction with the given model.
    func id(_ object: ObjectReference, _ model: CompiledModel) -> ObjectID {
        (entity(object.tag) == nil ? model : newest ?? model).id(of: object)
    }

    /// Returns a value as JSON, in which references are printed as object ids.
    func json(_ value: PropertyValue, _ model: CompiledModel) -> JSON {
        guard let reference = value.reference else { return value.json }
        return .string(id(reference, model).description)
    }

    /// Returns the current name of a property of an entity in the given model.
    func property(_ slot: Int, of entity: CompiledEntity, _ model: CompiledModel) -> String {
        properties(of: entity, model)[slot]
    }

    /// Returns the current names of the properties of an entity in the given model, by slot.
    func properties(of entity: CompiledEntity, _ model: CompiledModel) -> [String] {
        let key = EntityKey(version: model.version, tag: entity.tag)
        let names =
            known[key]
            ?? PropertyNames(of: entity, in: model, later: source.models(after: model))
        known[key] = names
        return names.all
    }
}
