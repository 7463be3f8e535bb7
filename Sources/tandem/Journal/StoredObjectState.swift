import Tandem
import TandemIO
import TandemStore

/// The state of an object in a store.
struct StoredObjectState {
    /// The position of the save that last changed the object's row.
    var version: UInt64
    /// The model that maps the references in the properties to ids.
    var model: CompiledModel
    var properties: [ObjectState.Property]
}

extension DaemonSource {
    func stored(_ history: ObjectHistory, at position: UInt64) throws -> StoredObjectState? {
        guard let place = cursor(position) else { return nil }
        let model = try container.compiledModel()
        guard let entity = model.entity(named: history.id.entity) else { return nil }
        var request = FetchRequest(entity: entity.name)
        request.predicate = try ObjectPredicate(
            format: "SELF == %@", arguments: [.object(history.id)])
        let members = entity.properties.filter(\.isToMany).map(\.name)
        let (wanted, container) = (request, container)
        do {
            let found = try MainActor.assumeIsolated {
                try container.makeContext(name: "show").fetch(wanted, at: place, members: members)
            }
            return found.first.map { StoredObjectState($0, model) }
        } catch let error as TandemError where error.code == .historyExpired {
            // The store can't be read at this position.
            return nil
        }
    }
}

extension StoredObjectState {
    fileprivate init(_ found: ObjectSnapshot, _ model: CompiledModel) {
        let values = found.values.map {
            ObjectState.Property(name: $0.key, isToMany: false, value: $0.value)
        }
        let lists = found.members.map { name, members in
            ObjectState.Property(
                name: name, isToMany: true, members: members.compactMap { model.reference(to: $0) })
        }
        self.init(version: found.version, model: model, properties: values + lists)
    }
}

extension FolderSource {
    /// Returns the state in the store's last checkpoint.
    ///
    /// Returns nil if the object was changed between the checkpoint and the position.
    func stored(_ history: ObjectHistory, at position: UInt64) throws -> StoredObjectState? {
        guard let store = openStore() else { return nil }
        defer { store.close() }
        let place = store.appliedPosition
        var hasChanged = false
        try history.forwards(after: min(place, position), through: max(place, position)) { _ in
            hasChanged = true
            return false
        }
        return hasChanged ? nil : try mapped { try StoredObjectState(history.id, store) }
    }
}

extension StoredObjectState {
    /// Reads the object from a store; returns nil if there is none.
    fileprivate init?(_ id: ObjectID, _ store: Store) throws {
        guard let model = store.model, let tag = try store.entity(ofNumber: id.number),
            let entity = model.entity(tagged: tag),
            model.entity(named: id.entity)?.includes(tag) ?? false,
            let found = try store.stored(ObjectReference(tag: tag, number: id.number))
        else { return nil }
        let properties = try entity.properties.map { property in
            guard property.isToMany, let relationship = property.relationship else {
                return ObjectState.Property(
                    name: property.name, isToMany: false,
                    value: found.row.uncheckedValue(property.slot, in: entity))
            }
            return ObjectState.Property(
                name: property.name, isToMany: true,
                members: try store.members(of: id.number, relationship))
        }
        self.init(version: found.version, model: model, properties: properties)
    }
}
