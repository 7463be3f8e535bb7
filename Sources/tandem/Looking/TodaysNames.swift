import Tandem

/// What objects and properties of any time are called now, over however many renames.
///
/// Whoever compares two times has to name what is the same by one name, and people know today's. What is no longer in the newest model
/// keeps the name that it had last.
final class TodaysNames {
    private let source: any LogSource
    private let newest: CompiledModel?
    /// The names of an entity's properties by slot, of each model.
    private var known: [Place: [String]] = [:]

    private struct Place: Hashable {
        var version: UInt16
        var tag: EntityTag
    }

    /// The names of the newest model of a journal.
    init(_ source: any LogSource) throws {
        self.source = source
        newest = try source.newestModel()
    }

    /// The entity as it is now; nil where it is gone.
    func entity(_ tag: EntityTag) -> CompiledEntity? { newest?.entity(tagged: tag) }

    /// An object's id, for an object of a transaction of some model.
    func id(_ object: ObjectReference, _ model: CompiledModel) -> ObjectID {
        (entity(object.tag) == nil ? model : newest ?? model).id(of: object)
    }

    /// A value as JSON, with object ids printed by name.
    func json(_ value: Value, _ model: CompiledModel) -> JSON {
        guard let reference = value.reference else { return value.json }
        return .string(id(reference, model).description)
    }

    /// What a property of an entity of some model is called.
    func property(_ slot: Int, of entity: CompiledEntity, _ model: CompiledModel) -> String {
        properties(of: entity, model)[slot]
    }

    /// What the properties of an entity of some model are called, by slot.
    func properties(of entity: CompiledEntity, _ model: CompiledModel) -> [String] {
        let place = Place(version: model.version, tag: entity.tag)
        if let names = known[place] { return names }
        let names = renamed(entity, model)
        known[place] = names
        return names
    }

    /// Model after model, as each says only what it renamed itself.
    private func renamed(_ entity: CompiledEntity, _ model: CompiledModel) -> [String] {
        var names = entity.properties.map(\.name)
        var old = model
        for next in source.models(after: model) {
            let renames = ModelRenames(from: old.model, to: next.model)
            // A property belongs to the entity or to one that it inherits from.
            let owners = old.entity(tagged: entity.tag)?.ancestors ?? []
            let found = owners.compactMap { next.entity(tagged: $0) }
                .compactMap { renames.properties[$0.name] }
            names = names.map { name in found.lazy.compactMap { $0[name] }.first ?? name }
            old = next
        }
        return names
    }
}
