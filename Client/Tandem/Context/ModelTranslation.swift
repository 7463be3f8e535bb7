import TandemModel
import TandemWire

/// Translates tags and slots from one model to another, by the names of entities and properties.
///
/// Nothing is left out silently: the throwing functions throw `schemaMismatch` for anything that
/// does not exist in the new model.
struct ModelTranslation {
    /// The model of the tags and slots to translate.
    let old: CompiledModel
    /// The model into which they are translated.
    let new: CompiledModel
    private let renames: ModelRenames

    init(from old: CompiledModel, to new: CompiledModel) {
        renames = ModelRenames(from: old.model, to: new.model)
        self.old = old
        self.new = new
    }

    // MARK: Names

    func reference(_ object: ObjectReference) throws(TandemError) -> ObjectReference {
        ObjectReference(tag: try entities(object.tag).new.tag, number: object.number)
    }

    /// Returns the owner and slot of the corresponding property in the new model.
    func slot(
        _ slot: Int, of owner: ObjectReference
    ) throws(TandemError) -> (owner: ObjectReference, slot: Int) {
        (try reference(owner), try property(slot, of: owner.tag).slot)
    }

    private func entities(
        _ tag: EntityTag
    ) throws(TandemError) -> (old: CompiledEntity, new: CompiledEntity) {
        guard let before = old.entity(tagged: tag) else { throw lacks("the entity \(tag)") }
        let later = renames.entities[before.name] ?? before.name
        guard let now = new.entity(named: later) else { throw lacks(before.name) }
        return (before, now)
    }

    private func property(_ slot: Int, of tag: EntityTag) throws(TandemError) -> CompiledProperty {
        let (before, now) = try entities(tag)
        guard slot < before.properties.count else { throw lacks("\(before.name), slot \(slot)") }
        let property = before.properties[slot]
        guard let same = self.property(property, in: now) else {
            throw lacks("\(before.name).\(property.name)")
        }
        return same
    }

    /// Returns the corresponding property in an entity of the new model, or nil if the entity lacks
    /// it.
    func property(_ property: CompiledProperty, in now: CompiledEntity) -> CompiledProperty? {
        let later = now.ancestors.lazy.compactMap {
            new.entity(tagged: $0).flatMap { renames.properties[$0.name]?[property.name] }
        }.first
        guard let same = now.property(named: later ?? property.name),
            same.isToMany == property.isToMany
        else { return nil }
        return same
    }

    /// Returns the corresponding entity in the new model, or nil if the model lacks it.
    func entity(_ before: CompiledEntity) -> CompiledEntity? { try? entities(before.tag).new }

    private func lacks(_ what: String) -> TandemError {
        TandemError(
            .schemaMismatch, "\(what) does not exist in \(subject); nothing was saved or read")
    }

    /// The new model as described in messages.
    var subject: String { "the changed model, version \(new.version)" }

    // MARK: Saves

    /// Returns the save translated into the tags and slots of the new model.
    func save(_ request: SaveRequest) throws(TandemError) -> SaveRequest {
        var result = request
        result.modelVersion = new.version
        result.operations = []
        result.encoded = nil
        for operation in try operations(of: request) {
            result.operations.append(try self.operation(operation))
        }
        return result
    }

    private func operations(of request: SaveRequest) throws(TandemError) -> [SaveOperation] {
        guard let encoded = request.encoded else { return request.operations }
        do {
            return try encoded.decoded()
        } catch {
            throw TandemError(.storage, "an encoded save cannot be decoded: \(error)")
        }
    }

    private func operation(_ operation: SaveOperation) throws(TandemError) -> SaveOperation {
        let tag = operation.object.tag
        let object = try reference(operation.object)
        switch operation {
        case .insert(_, let values, let links):
            var items: [SlotValue] = []
            for item in values {
                let (slot, value) = try place(item.value, in: item.slot, of: tag)
                items.append(SlotValue(slot: slot, value: value))
            }
            return .insert(
                object: object, values: items.sorted { $0.slot < $1.slot },
                links: try self.links(links, of: tag))
        case .update(_, let version, let values, let links):
            var items: [SaveValue] = []
            for item in values {
                let (slot, value) = try place(item.value, in: item.slot, of: tag)
                let base = try item.base.map { value throws(TandemError) in try self.value(value) }
                items.append(SaveValue(slot: slot, value: value, base: base))
            }
            return .update(
                object: object, baseVersion: version, values: items.sorted { $0.slot < $1.slot },
                links: try self.links(links, of: tag))
        case .delete(_, let version): return .delete(object: object, baseVersion: version)
        }
    }

    private func place(
        _ value: PropertyValue, in slot: Int, of tag: EntityTag
    ) throws(TandemError) -> (slot: Int, value: PropertyValue) {
        let property = try property(slot, of: tag)
        guard property.accepts(value) else {
            throw lacks("the value of \(try entities(tag).old.name).\(property.name)")
        }
        return (property.slot, try self.value(value))
    }

    func value(_ value: PropertyValue) throws(TandemError) -> PropertyValue {
        guard let target = value.reference else { return value }
        return .reference(try reference(target))
    }

    private func links(
        _ links: [LinkChange], of tag: EntityTag
    ) throws(TandemError) -> [LinkChange] {
        var result: [LinkChange] = []
        for link in links {
            let property = try property(link.slot, of: tag)
            guard link.rank == nil || property.relationship?.isOrdered == true else {
                throw lacks("the order of \(property.name)")
            }
            result.append(
                LinkChange(
                    slot: property.slot, target: try reference(link.target), link.action,
                    rank: link.rank))
        }
        return result
    }
}
