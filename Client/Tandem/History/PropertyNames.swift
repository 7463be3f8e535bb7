package import TandemModel

/// The current names of an entity's properties in one model, across all later renames.
///
/// A property that later models don't have keeps its last name, unless another property has that
/// name now.
package final class PropertyNames: Sendable {
    /// The entity in ``model``.
    package let entity: CompiledEntity
    /// The model at the position of the decoded change.
    package let model: CompiledModel
    /// The newest model.
    private let newest: CompiledModel
    /// The current names by slot.
    package let all: [String]
    private let slots: [String: Int]

    /// Finds the names of an entity's properties after the renames of all later models, which are
    /// given oldest first.
    ///
    /// Cost: compares each model with its predecessor.
    package init(of entity: CompiledEntity, in model: CompiledModel, later: [CompiledModel]) {
        (self.entity, self.model) = (entity, model)
        newest = later.last ?? model
        var names = entity.properties.map { (name: $0.name, exists: true) }
        var old = model
        // Model by model, because each model declares only its own renames.
        for next in later {
            let renames = ModelRenames(from: old.model, to: next.model)
            // A property belongs to the entity or to one of its superentities.
            let owners = old.entity(tagged: entity.tag)?.ancestors ?? []
            let found = owners.compactMap { next.entity(tagged: $0) }
                .compactMap { renames.properties[$0.name] }
            let now = next.entity(tagged: entity.tag)
            for slot in names.indices where names[slot].exists {
                let name = names[slot].name
                names[slot].name = found.lazy.compactMap { $0[name] }.first ?? name
                names[slot].exists = now?.slot(of: names[slot].name) != nil
            }
            old = next
        }
        var slots: [String: Int] = [:]
        for slot in names.indices where !names[slot].exists { slots[names[slot].name] = slot }
        for slot in names.indices where names[slot].exists { slots[names[slot].name] = slot }
        all = names.map(\.name)
        self.slots = slots
    }

    /// Returns the slot of the property with a current name, or nil if there was none.
    func slot(of name: String) -> Int? { slots[name] }

    /// Returns the id of an object, with the current name of its entity.
    func id(of object: ObjectReference) -> ObjectID {
        (newest.entity(tagged: object.tag) == nil ? model : newest).id(of: object)
    }

    /// Returns whether the entity has a current name, or inherits from an entity with that name.
    func isOf(entity name: String) -> Bool {
        let known = newest.entity(tagged: entity.tag) == nil ? model : newest
        return known.entity(named: name)?.includes(entity.tag) ?? false
    }
}
