import TandemModel

/// A naive graph of dictionaries and sets that computes the expected effect of saves.
struct NaiveGraph {
    struct Object {
        var tag: EntityTag
        var values: [PropertyValue]
        /// The objects at the other end, even for to-one relationships.
        var links: [Int: Set<UInt64>] = [:]
        /// Whether the running save inserts the object; it can only add links then.
        var isFresh = false

        /// Returns the value of an attribute.
        ///
        /// A derived count counts the links; a folded text is looked up among the few texts in use.
        func value(of property: CompiledProperty, in entity: CompiledEntity) -> PropertyValue {
            guard let derivation = property.derivation else { return values[property.slot] }
            let source = entity.slot(of: derivation.source) ?? 0
            switch derivation {
            case .count: return .int(Int64(links[source]?.count ?? 0))
            case .folded:
                guard case .string(let text) = values[source] else { return .null }
                return .string(Self.folded[text] ?? "?")
            }
        }

        private static let folded = ["a": "a", "B": "b", "É": "e", "Straße": "strasse"]
    }

    var objects: [UInt64: Object] = [:]

    func reference(_ number: UInt64) -> ObjectReference {
        ObjectReference(tag: objects[number]?.tag ?? 0, number: number)
    }

    mutating func link(
        _ owner: UInt64, _ slot: Int, _ target: UInt64, _ relationship: CompiledRelationship
    ) {
        if objects[owner]?.links[slot]?.contains(target) ?? false { return }
        if !relationship.toMany { unlinkAll(owner, slot, relationship) }
        if !relationship.inverseToMany {
            for other in objects[target]?.links[relationship.inverseSlot] ?? [] {
                unlink(other, slot, target, relationship)
            }
        }
        objects[owner]?.links[slot, default: []].insert(target)
        objects[target]?.links[relationship.inverseSlot, default: []].insert(owner)
    }

    mutating func unlink(
        _ owner: UInt64, _ slot: Int, _ target: UInt64, _ relationship: CompiledRelationship
    ) {
        guard objects[owner]?.links[slot]?.remove(target) != nil else { return }
        objects[target]?.links[relationship.inverseSlot]?.remove(owner)
    }

    mutating func unlinkAll(_ owner: UInt64, _ slot: Int, _ relationship: CompiledRelationship) {
        for target in objects[owner]?.links[slot] ?? [] {
            unlink(owner, slot, target, relationship)
        }
    }

    /// Deletes an object according to its delete rules; `denied` collects the objects protected by
    /// a rule `deny`.
    mutating func delete(_ number: UInt64, _ model: CompiledModel, _ denied: inout [UInt64]) {
        guard let object = objects[number], let entity = model.entity(tagged: object.tag) else {
            return
        }
        var taken: Set<UInt64> = []
        for property in entity.properties {
            guard let relationship = property.relationship else { continue }
            let members = (objects[number]?.links[property.slot] ?? []).subtracting([number])
            unlinkAll(number, property.slot, relationship)
            if relationship.deleteRule == .cascade { taken.formUnion(members) }
            if relationship.deleteRule == .deny { denied += members }
        }
        objects[number] = nil
        for next in taken { delete(next, model, &denied) }
    }
}

/// The graph that a reader of transactions builds: rows and links, forwards and backwards.
struct MirrorGraph: Equatable {
    struct Key: Hashable {
        var owner: ObjectReference
        var slot: Int
    }

    struct Misfit: Error {
        var change: Change
    }

    var rows: [ObjectReference: Row] = [:]
    var links: [Key: Set<ObjectReference>] = [:]

    mutating func apply(_ change: Change, _ model: CompiledModel) throws {
        guard let entity = model.entity(tagged: change.object.tag) else {
            throw Misfit(change: change)
        }
        let old = rows[change.object]
        guard (old == nil) == (change.kind == .insert) else { throw Misfit(change: change) }
        switch change.kind {
        case .insert: rows[change.object] = change.row
        case .update:
            guard change.rowBefore(in: entity) == old else { throw Misfit(change: change) }
            rows[change.object] = change.row
        case .delete:
            guard change.deleted == old else { throw Misfit(change: change) }
            rows[change.object] = nil
        case .touch: break
        }
        for link in change.links { try set(link, of: change, isMember: link.isAdded) }
    }

    mutating func undo(_ change: Change, _ model: CompiledModel) throws {
        guard let entity = model.entity(tagged: change.object.tag) else {
            throw Misfit(change: change)
        }
        switch change.kind {
        case .insert: rows[change.object] = nil
        case .update, .delete: rows[change.object] = change.rowBefore(in: entity)
        case .touch: break
        }
        for link in change.links { try set(link, of: change, isMember: !link.isAdded) }
    }

    /// Adds or removes a member; throws if an added one exists or a removed one does not.
    private mutating func set(_ link: LinkChange, of change: Change, isMember: Bool) throws {
        let key = Key(owner: change.object, slot: link.slot)
        let isNew =
            isMember
            ? links[key, default: []].insert(link.target).inserted
            : links[key]?.remove(link.target) != nil
        guard isNew else { throw Misfit(change: change) }
        if links[key]?.isEmpty ?? false { links[key] = nil }
    }
}
