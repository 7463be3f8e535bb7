package import TandemModel
import TandemStore

/// Decides whether a store may get another model, before anything is written.
package enum ModelChange {
    /// The compiled model to install, or nil when the store has this very model.
    ///
    /// Throws `validation` for a model that can't be used, `schemaMismatch` with every difference that is no addition.
    static func plan(_ model: Model, store: Store) throws -> CompiledModel? {
        if store.model?.hash == model.hash { return nil }
        let compiled: CompiledModel
        do {
            compiled = try CompiledModel(model, replacing: store.model)
        } catch {
            throw TandemError(.usage, error.description)
        }
        guard let old = store.model else { return compiled }
        let isEmpty = try store.isEmpty
        let differences = isEmpty ? [] : refusals(from: old.model, to: model)
        guard differences.isEmpty else {
            throw TandemError(
                .schemaMismatch,
                "the store's model can't be changed to this one: "
                    + differences.joined(separator: "; "))
        }
        return compiled
    }

    /// True when everything that `client` knows is in the store's model as well.
    static func serves(_ store: Model, _ client: Model) -> Bool {
        store == client || refusals(from: client, to: store).isEmpty
    }

    /// What is not just added, entity by entity.
    package static func refusals(from old: Model, to new: Model) -> [String] {
        old.entities.values.sorted { $0.name < $1.name }.flatMap { entity -> [String] in
            guard let later = new.entities[entity.name] else {
                return ["\(entity.name) is missing"]
            }
            return refusals(from: entity, to: later, old, new)
        }
    }

    private static func refusals(
        from old: Entity, to new: Entity, _ oldModel: Model, _ newModel: Model
    ) -> [String] {
        var found: [String] = []
        if old.parent != new.parent { found.append("\(old.name) has another parent") }
        for (name, attribute) in old.attributes.sorted(by: { $0.key < $1.key }) {
            found += refusal(of: attribute, new.attributes[name], "\(old.name).\(name)")
        }
        for (name, relationship) in old.relationships.sorted(by: { $0.key < $1.key }) {
            found += refusal(of: relationship, new.relationships[name], "\(old.name).\(name)")
        }
        for name in new.attributes.keys.sorted() where old.attributes[name] == nil {
            guard let added = new.attributes[name], !added.optional, added.defaultValue.isNull
            else {
                continue
            }
            found.append("\(old.name).\(name) is new and needs to be optional or to have a default")
        }
        for name in new.relationships.keys.sorted() where old.relationships[name] == nil {
            guard let added = new.relationships[name], !added.optional else { continue }
            found.append("\(old.name).\(name) is new and needs to be optional")
        }
        if !Set(new.uniqueness).isSubset(of: old.uniqueness) {
            found.append("\(old.name) has a new uniqueness constraint")
        }
        if !Set(old.indexes).isSubset(of: new.indexes)
            || !Set(old.uniqueness).isSubset(of: new.uniqueness)
        {
            found.append("\(old.name) lost an index or uniqueness constraint")
        }
        return found
    }

    private static func refusal(
        of old: Attribute, _ new: Attribute?, _ name: String
    ) -> [String] {
        guard let new else { return ["\(name) is missing"] }
        if old.type != new.type {
            return ["\(name) is \(new.type.rawValue), not \(old.type.rawValue)"]
        }
        let isStricter =
            (old.optional && !new.optional)
            || (new.allowedValues != nil && new.allowedValues != old.allowedValues)
            || (new.minimum != nil && new.minimum != old.minimum)
            || (new.maximum != nil && new.maximum != old.maximum)
        return isStricter ? ["\(name) has stricter rules than the values that are stored"] : []
    }

    private static func refusal(
        of old: Relationship, _ new: Relationship?, _ name: String
    ) -> [String] {
        guard let new else { return ["\(name) is missing"] }
        if old.destination != new.destination || old.inverse != new.inverse
            || old.toMany != new.toMany || (old.optional && !new.optional)
            || (new.minimum ?? 0 > old.minimum ?? 0)
            || (new.maximum ?? .max < old.maximum ?? .max)
        {
            return ["\(name) leads elsewhere or is stricter"]
        }
        return []
    }
}

extension CompiledModel {
    /// Checks that slots in a request are of this model; those of another one would mean other properties.
    ///
    /// Throws `schemaMismatch`.
    func check(slotsOf version: UInt16, _ what: String, _ advice: String) throws(TandemError) {
        guard version != self.version else { return }
        throw TandemError(
            .schemaMismatch,
            "the model was changed while \(what) was made: it is of version \(version), the "
                + "store's model is version \(self.version); \(advice)")
    }
}
