import TandemModel
import TandemStore

/// The objects that a save touches, as an overlay on the store; links are kept at both ends.
final class PlanningGraph {
    let store: Store
    let model: CompiledModel
    let limits: DaemonLimits
    /// The maximum number of objects that deletions may cascade to, including the deleted ones.
    private let most: Int
    /// The contents of values too long for a row, sent with the request or derived from it.
    private(set) var blobs: [BlobReference: Blob] = [:]
    /// Long texts that the request refers to and that are known to exist.
    var texts: Set<TextReference> = []
    private(set) var objects: PlanningObjects
    /// Members of deleted objects' relationships with the rule `deny`, checked after everything
    /// else is planned.
    private(set) var denials: [(owner: ObjectReference, slot: Int, members: [ObjectReference])] = []

    /// Creates an empty graph with capacity for `capacity` objects.
    init(
        _ store: Store, _ model: CompiledModel, _ limits: DaemonLimits, capacity: Int = 0,
        most: Int = .max
    ) {
        self.store = store
        self.model = model
        self.limits = limits
        self.most = most
        objects = PlanningObjects(capacity: capacity)
    }

    // MARK: Objects

    /// Returns an object, or nil if it does not exist, has another entity, or is deleted by the
    /// save.
    func load(_ object: ObjectReference) throws -> PlanningObject? {
        if let known = objects[object.number] {
            return known.object == object && !known.isDeleted ? known : nil
        }
        guard let stored = try store.stored(object),
            let entity = model.entity(tagged: object.tag)
        else { return nil }
        let working = PlanningObject(stored: stored, entity: entity, model)
        objects.append(working)
        return working
    }

    func insert(_ object: ObjectReference, _ entity: CompiledEntity) {
        objects.append(PlanningObject(inserting: object, entity: entity, model))
    }

    /// The objects, sorted by number; the order is computed on each access.
    var inOrder: [PlanningObject] { objects.inOrder }

    private func relationship(
        _ object: ObjectReference, _ slot: Int
    ) throws(TandemError) -> CompiledRelationship {
        guard let entity = model.entity(tagged: object.tag), slot < entity.properties.count,
            let relationship = entity.properties[slot].relationship
        else { throw noRelationship(object, slot) }
        return relationship
    }

    private func relationship(
        _ working: PlanningObject, _ slot: Int
    ) throws(TandemError) -> CompiledRelationship {
        let properties = working.entity.properties
        guard slot < properties.count, let relationship = properties[slot].relationship else {
            throw noRelationship(working.object, slot)
        }
        return relationship
    }

    private func noRelationship(_ object: ObjectReference, _ slot: Int) -> TandemError {
        TandemError(.usage, "property \(slot) of \(model.id(of: object)) is not a relationship")
    }

    // MARK: Values

    func set(_ working: PlanningObject, _ slot: Int, _ value: PropertyValue) throws {
        let entity = working.entity
        if entity.derived.contains(slot),
            let refusal = TandemError.derived(
                entity.properties[slot], of: model.id(of: working.object))
        {
            throw refusal
        }
        if entity.holds(value, inAttribute: slot) {
            return working.set(slot, try inRow(value, working.object, slot, entity))
        }
        let properties = entity.properties
        guard slot < properties.count, properties[slot].accepts(value) else {
            throw TandemError(
                .validation,
                problems: [
                    ValidationProblem(
                        object: model.id(of: working.object),
                        property: slot < properties.count ? properties[slot].name : "#\(slot)",
                        message: "the value's type differs from the property's")
                ])
        }
        try setToOne(working, slot, value.reference)
    }

    /// Keeps the content of a long value, and returns it as a blob with its reference.
    func keep(_ content: [UInt8]) -> Blob {
        assert(
            content.count > BlobReference.inlineLimit, "Content that fits a row stays in the row.")
        let blob = Blob(content)
        blobs[blob.reference] = blob
        return blob
    }

    // MARK: Links

    /// Sets a to-one relationship and updates both inverses.
    private func setToOne(_ owner: PlanningObject, _ slot: Int, _ target: ObjectReference?) throws {
        let relationship = try relationship(owner, slot)
        let old = owner.value(slot).reference
        guard old != target else { return }
        if let old, let partner = try load(old) { detach(owner, from: partner, relationship) }
        if let target {
            try attach(owner, to: try require(target, relationship), slot, relationship)
        }
        owner.set(slot, target.map { .reference($0) } ?? .null)
        assert(
            relationship.inverseToMany || target == nil
                || target.flatMap { objects[$0.number] }?.value(relationship.inverseSlot).reference
                    == owner.object,
            "Both ends of a one-to-one link refer to each other.")
    }

    /// Sets a to-one relationship of a loaded object.
    private func setToOne(
        _ owner: ObjectReference, _ slot: Int, _ target: ObjectReference?
    ) throws {
        guard let working = objects[owner.number] else { return }
        try setToOne(working, slot, target)
    }

    private func detach(
        _ owner: PlanningObject, from old: PlanningObject, _ relationship: CompiledRelationship
    ) {
        if relationship.inverseToMany {
            old.remove(owner.object, from: relationship.inverseSlot)
        } else if old.value(relationship.inverseSlot).reference == owner.object {
            old.set(relationship.inverseSlot, .null)
        }
    }

    private func attach(
        _ owner: PlanningObject, to target: PlanningObject, _ slot: Int,
        _ relationship: CompiledRelationship
    ) throws {
        if relationship.inverseToMany {
            return target.add(owner.object, to: relationship.inverseSlot)
        }
        let partner = target.value(relationship.inverseSlot).reference
        if let partner, partner != owner.object, let other = try load(partner) {
            other.set(slot, .null)
        }
        target.set(relationship.inverseSlot, .reference(owner.object))
    }

    /// Adds a member to a to-many relationship; does nothing if it is already a member.
    func add(_ member: ObjectReference, to owner: ObjectReference, _ slot: Int) throws {
        let relationship = try toMany(owner, slot)
        try require(member, relationship)
        guard relationship.inverseToMany else {
            return try setToOne(member, relationship.inverseSlot, owner)
        }
        guard try !isMember(member, of: owner, slot, relationship) else { return }
        objects[owner.number]?.add(member, to: slot)
        // A link from an object to itself is one link if the relationship is its own inverse.
        guard member != owner || relationship.inverseSlot != slot else { return }
        objects[member.number]?.add(owner, to: relationship.inverseSlot)
    }

    /// Removes a member from a to-many relationship; does nothing if it is not a member.
    func remove(_ member: ObjectReference, from owner: ObjectReference, _ slot: Int) throws {
        let relationship = try toMany(owner, slot)
        guard try load(member) != nil, try isMember(member, of: owner, slot, relationship) else {
            return
        }
        guard relationship.inverseToMany else {
            return try setToOne(member, relationship.inverseSlot, nil)
        }
        objects[owner.number]?.remove(member, from: slot)
        guard member != owner || relationship.inverseSlot != slot else { return }
        objects[member.number]?.remove(owner, from: relationship.inverseSlot)
    }

    func toMany(
        _ owner: ObjectReference, _ slot: Int
    ) throws(TandemError) -> CompiledRelationship {
        let relationship = try relationship(owner, slot)
        guard relationship.toMany else {
            throw TandemError(
                .usage,
                "\(model.id(of: owner)).\(relationship.declaration.name) is not a to-many "
                    + "relationship; set it instead of adding members")
        }
        return relationship
    }

    /// Loads the object at the other end, which must exist and have the right entity.
    @discardableResult
    private func require(
        _ target: ObjectReference, _ relationship: CompiledRelationship
    ) throws -> PlanningObject {
        guard model.entity(tagged: relationship.destination)?.includes(target.tag) ?? false else {
            throw TandemError(
                .usage,
                relationship.mismatch(
                    relationship.declaration.name, "\(model.id(of: target))"))
        }
        guard let working = try load(target) else {
            throw TandemError.unknownObject("\(model.id(of: target))")
        }
        return working
    }

    private func isMember(
        _ member: ObjectReference, of owner: ObjectReference, _ slot: Int,
        _ relationship: CompiledRelationship
    ) throws -> Bool {
        let delta = objects[owner.number]?.delta(slot)
        if delta?.added.contains(member) ?? false { return true }
        if delta?.removed.contains(member) ?? false { return false }
        guard objects[owner.number]?.isInserted == false else { return false }
        return try store.isMember(member.number, of: owner.number, relationship)
    }

    /// Returns the members after the operations planned so far.
    func members(
        of owner: ObjectReference, _ slot: Int, _ relationship: CompiledRelationship
    ) throws -> [ObjectReference] {
        let working = objects[owner.number]
        var members: [ObjectReference] = []
        if working?.isInserted != true {
            members = try store.members(of: owner.number, relationship)
        }
        guard let delta = working?.delta(slot) else { return members }
        members.removeAll { delta.removed.contains($0) }
        return (members + delta.added.inOrder).sorted()
    }

    /// Returns the number of members after the operations planned so far.
    ///
    /// The result is exact up to `bound`; if there are more members, it may be any larger number.
    /// Cost: proportional to `bound` plus the number of removed members.
    func memberCount(
        of owner: ObjectReference, _ slot: Int, _ relationship: CompiledRelationship,
        upTo bound: Int
    ) throws -> Int {
        let working = objects[owner.number]
        let delta = working?.delta(slot) ?? LinkDelta(slot)
        guard working?.isInserted != true else { return delta.added.count }
        let most = min(bound, .max >> 1) + 1 + delta.removed.count
        let stored = try store.memberCount(of: owner.number, relationship, atMost: most)
        assert(stored >= delta.removed.count, "Only stored members can be removed.")
        return stored - delta.removed.count + delta.added.count
    }

    // MARK: Deletion

    /// Deletes an object and follows its delete rules; ``denials`` collects the members of
    /// relationships with the rule `deny`.
    func delete(_ object: ObjectReference) throws {
        var pending = [object]
        while let next = pending.popLast() {
            guard let working = try load(next) else { continue }
            for property in working.entity.properties {
                guard let relationship = property.relationship else { continue }
                pending += try unlink(next, property.slot, relationship)
            }
            working.isDeleted = true
            try checkRoom(for: [])
        }
    }

    /// Throws `limitExceeded` before loading members that would exceed the limit on cascades.
    private func checkRoom(for members: [ObjectReference]) throws(TandemError) {
        guard objects.count + members.count > most else { return }
        let new = members.count { objects[$0.number] == nil }
        guard objects.count + new > most else { return }
        throw TandemError(
            .limitExceeded, "delete rules delete more than \(most) objects; delete fewer")
    }

    /// Removes an object from a relationship; returns the objects that its deletion cascades to.
    private func unlink(
        _ object: ObjectReference, _ slot: Int, _ relationship: CompiledRelationship
    ) throws -> [ObjectReference] {
        let members: [ObjectReference]
        if relationship.toMany {
            members = try self.members(of: object, slot, relationship)
            try checkRoom(for: members)
            for member in members { try remove(member, from: object, slot) }
        } else {
            members = objects[object.number]?.value(slot).reference.map { [$0] } ?? []
            try setToOne(object, slot, nil)
        }
        switch relationship.deleteRule {
        case .nullify, .noAction: return []
        case .cascade: return members.filter { $0 != object }
        case .deny:
            denials.append((object, slot, members.filter { $0 != object }))
            return []
        }
    }
}
