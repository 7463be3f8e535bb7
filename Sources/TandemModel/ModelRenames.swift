/// The renames from one model to the next, according to the hints of the next model.
///
/// A hint has an effect only if the old name exists only in the first model, and the new name only
/// in the second. A hint that has been applied is therefore ignored.
package struct ModelRenames: Hashable, Sendable {
    /// The new names of entities by their old names.
    package private(set) var entities: [String: String] = [:]
    /// For each entity, by its new name, the new names of its own properties by their old names.
    package private(set) var properties: [String: [String: String]] = [:]

    /// Finds the renames according to the hints in `next`.
    package init(from old: ManagedObjectModel, to next: ManagedObjectModel) {
        for entity in next.entities.values.sorted(by: { $0.name < $1.name }) {
            guard let from = entity.renamedFrom, entities[from] == nil,
                old.entities[from] != nil, old.entities[entity.name] == nil,
                next.entities[from] == nil
            else { continue }
            entities[from] = entity.name
        }
        for (name, entity) in old.entities {
            let later = entities[name] ?? name
            guard let next = next.entities[later] else { continue }
            let found = ModelRenames.names(from: entity, to: next)
            if !found.isEmpty { properties[later] = found }
        }
    }

    /// Whether there are no renames.
    package var isEmpty: Bool { entities.isEmpty && properties.isEmpty }

    private static func names(from old: Entity, to next: Entity) -> [String: String] {
        var names: [String: String] = [:]
        func addRename(_ name: String, _ hint: String?, _ isKnown: Bool) {
            guard let hint, isKnown, names[hint] == nil, !old.ownNames.contains(name),
                !next.ownNames.contains(hint)
            else { return }
            names[hint] = name
        }
        for (name, attribute) in next.attributes.sorted(by: { $0.key < $1.key }) {
            let hint = attribute.renamedFrom
            addRename(name, hint, hint.map { old.attributes[$0] != nil } ?? false)
        }
        for (name, relationship) in next.relationships.sorted(by: { $0.key < $1.key }) {
            let hint = relationship.renamedFrom
            addRename(name, hint, hint.map { old.relationships[$0] != nil } ?? false)
        }
        return names
    }

    /// The renames as differences.
    var differences: [ModelDifference] {
        let why = "its values are kept; apps that know only the old name are refused"
        var found = entities.map { old, new in
            ModelDifference(
                new, nil, .name, from: old, to: new, .compatible,
                "its objects are kept; apps that know only the old name are refused")
        }
        for (entity, names) in properties {
            found += names.map { old, new in
                ModelDifference(entity, new, .name, from: old, to: new, .compatible, why)
            }
        }
        return found.sorted { ($0.entity, $0.property ?? "") < ($1.entity, $1.property ?? "") }
    }

    // MARK: Applying

    /// Returns the old model with the new names.
    package func applied(to old: ManagedObjectModel) -> ManagedObjectModel {
        if isEmpty { return old }
        return ManagedObjectModel(entities: old.entities.values.map { applied(to: $0, of: old) })
    }

    private func name(_ entity: String) -> String { entities[entity] ?? entity }

    private func applied(to old: Entity, of model: ManagedObjectModel) -> Entity {
        var entity = old
        entity.name = name(old.name)
        entity.parent = old.parent.map(name)
        entity.attributes = [:]
        entity.relationships = [:]
        for (name, attribute) in old.attributes {
            var attribute = attribute
            attribute.name = property(name, of: old.name)
            attribute.derived = attribute.derived.map { derivation in
                let source = list([derivation.source], of: old, model)
                return source.first.map(derivation.renamed) ?? derivation
            }
            entity.attributes[attribute.name] = attribute
        }
        for (name, relationship) in old.relationships {
            var relationship = relationship
            relationship.inverse = property(
                relationship.inverse, of: relationship.destination)
            relationship.name = property(name, of: old.name)
            relationship.destination = self.name(relationship.destination)
            entity.relationships[relationship.name] = relationship
        }
        entity.uniqueness = old.uniqueness.map { list($0, of: old, model) }
        entity.indexes = old.indexes.map { list($0, of: old, model) }
        return entity
    }

    /// Returns the new name of a property declared by the entity with this old name.
    private func property(_ property: String, of entity: String) -> String {
        properties[name(entity)]?[property] ?? property
    }

    /// Returns the new names of properties that an entity declares or inherits.
    private func list(_ names: [String], of entity: Entity, _ model: ManagedObjectModel) -> [String]
    {
        let lineage = model.lineage(of: entity.name) ?? [entity]
        return names.map { name in
            let owner = lineage.first { $0.ownNames.contains(name) }
            return owner.map { property(name, of: $0.name) } ?? name
        }
    }

    /// Returns the assigned numbers under the new names.
    func applied(to identifiers: [String: UInt16], of old: ManagedObjectModel) -> [String: UInt16] {
        if isEmpty { return identifiers }
        var result = identifiers
        var moved: [(String, UInt16)] = []
        for name in old.entities.keys.sorted() {
            guard let entity = old.entities[name] else { continue }
            let later = applied(to: entity, of: old)
            for (before, after) in zip(keys(of: entity), keys(of: later, in: entity))
            where before != after {
                if let number = result.removeValue(forKey: before) { moved.append((after, number)) }
            }
        }
        for (key, number) in moved { result[key] = number }
        return result
    }

    private func keys(of entity: Entity) -> [String] {
        [ModelCompiler.key(entity: entity.name)]
            + entity.relationships.keys.sorted().map {
                ModelCompiler.key(link: $0, of: entity.name)
            } + lists(of: entity)
    }

    /// Returns the keys of a renamed entity, in the order of its old keys.
    private func keys(of entity: Entity, in old: Entity) -> [String] {
        [ModelCompiler.key(entity: entity.name)]
            + old.relationships.keys.sorted().map {
                ModelCompiler.key(link: property($0, of: old.name), of: entity.name)
            } + lists(of: entity)
    }

    private func lists(of entity: Entity) -> [String] {
        entity.uniqueness.map { ModelCompiler.key(unique: $0, of: entity.name) }
            + entity.indexes.map { ModelCompiler.key(index: $0, of: entity.name) }
    }
}
