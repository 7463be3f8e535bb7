import TandemModel
import TandemStore

/// The part of the graph that a save touches, over the store: every link is kept at both ends.
final class WorkingGraph {
    let store: Store
    let model: CompiledModel
    let limits: DaemonLimits
    /// How many objects deletions may take along, the deleted ones included.
    private let most: Int
    /// The contents that the save brings along for values that are too long for a row.
    private(set) var blobs: [BlobReference: Blob] = [:]
    /// Long texts that the save names and that are known to be there.
    var texts: Set<TextReference> = []
    private(set) var objects: WorkingSet
    /// Relationships whose rule is `deny`, to be looked at when everything else is planned.
    private(set) var denials: [(owner: ObjectReference, slot: Int, members: [ObjectReference])] = []

    /// An empty graph with room for `capacity` objects.
    init(
        _ store: Store, _ model: CompiledModel, _ limits: DaemonLimits, capacity: Int = 0,
        most: Int = .max
    ) {
        self.store = store
        self.model = model
        self.limits = limits
        self.most = most
        objects = WorkingSet(capacity: capacity)
    }

    // MARK: Objects

    /// Loads an object; nil when it does not exist, is of another entity or is deleted already.
    func load(_ object: ObjectReference) throws -> WorkingObject? {
        if let known = objects[object.number] {
            return known.object == object && !known.isDeleted ? known : nil
        }
        guard let stored = try store.stored(object),
            let entity = model.entity(tagged: object.tag)
        else { return nil }
        let working = WorkingObject(stored: stored, entity: entity, model)
        objects.append(working)
        return working
    }

    func insert(_ object: ObjectReference, _ entity: CompiledEntity) {
        objects.append(WorkingObject(inserting: object, entity: entity, model))
    }

    /// The objects by number; made once the save is planned.
    var inOrder: [WorkingObject] { objects.inOrder }

    private func relationship(
        _ object: ObjectReference, _ slot: Int
    ) throws(TandemError) -> CompiledRelationship {
        guard let entity = model.entity(tagged: object.tag), slot < entity.properties.count,
            let relationship = entity.properties[slot].relationship
        else { throw noRelationship(object, slot) }
        return relationship
    }

    private func relationship(
        _ working: WorkingObject, _ slot: Int
    ) throws(TandemError) -> CompiledRelationship {
        let properties = working.entity.properties
        guard slot < properties.count, let relationship = properties[slot].relationship else {
            throw noRelationship(working.object, slot)
        }
        return relationship
    }

    private func noRelationship(_ object: ObjectReference, _ slot: Int) -> TandemError {
        TandemError(.usage, "property \(slot) of \(model.id(of: object)) is no relationship")
    }

    // MARK: Values

    func set(_ working: WorkingObject, _ slot: Int, _ value: Value) throws {
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
                        message: "a value of another type was given")
                ])
        }
        try setToOne(working, slot, value.reference)
    }

    /// Keeps a content and returns it with what stands for it.
    func keep(_ content: [UInt8]) -> Blob {
        let blob = Blob(content)
        blobs[blob.reference] = blob
        return blob
    }

    // MARK: Links

    /// Lets a to-one relationship lead to another object, and mends both inverses.
    private func setToOne(_ owner: WorkingObject, _ slot: Int, _ target: ObjectReference?) throws {
        let relationship = try relationship(owner, slot)
        let old = owner.value(slot).reference
        guard old != target else { return }
        if let old, let partner = try load(old) { detach(owner, from: partner, relationship) }
        if let target {
            try attach(owner, to: try require(target, relationship), slot, relationship)
        }
        owner.set(slot, target.map { .reference($0) } ?? .null)
    }

    /// Lets a to-one relationship of an object that was loaded lead to another object.
    private func setToOne(
        _ owner: ObjectReference, _ slot: Int, _ target: ObjectReference?
    ) throws {
        guard let working = objects[owner.number] else { return }
        try setToOne(working, slot, target)
    }

    private func detach(
        _ owner: WorkingObject, from old: WorkingObject, _ relationship: CompiledRelationship
    ) {
        if relationship.inverseToMany {
            old.remove(owner.object, from: relationship.inverseSlot)
        } else if old.value(relationship.inverseSlot).reference == owner.object {
            old.set(relationship.inverseSlot, .null)
        }
    }

    private func attach(
        _ owner: WorkingObject, to target: WorkingObject, _ slot: Int,
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

    /// Adds a member to a to-many relationship; one that is there already changes nothing.
    func add(_ member: ObjectReference, to owner: ObjectReference, _ slot: Int) throws {
        let relationship = try toMany(owner, slot)
        try require(member, relationship)
        guard relationship.inverseToMany else {
            return try setToOne(member, relationship.inverseSlot, owner)
        }
        guard try !isMember(member, of: owner, slot, relationship) else { return }
        objects[owner.number]?.add(member, to: slot)
        // A relationship that is its own inverse between an object and itself is one link, not two.
        guard member != owner || relationship.inverseSlot != slot else { return }
        objects[member.number]?.add(owner, to: relationship.inverseSlot)
    }

    /// Removes a member from a to-many relationship; one that is not there changes nothing.
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
                "\(model.id(of: owner)).\(relationship.declaration.name) leads to one "
                    + "object; set it instead of adding members")
        }
        return relationship
    }

    /// Loads the object at the other end, which has to exist and be of the right entity.
    @discardableResult
    private func require(
        _ target: ObjectReference, _ relationship: CompiledRelationship
    ) throws -> WorkingObject {
        guard model.entity(tagged: relationship.destination)?.includes(target.tag) ?? false else {
            throw TandemError(
                .usage,
                "\(relationship.declaration.name) leads to "
                    + "\(relationship.declaration.destination), not to \(model.id(of: target))")
        }
        guard let working = try load(target) else {
            throw TandemError(.unknownObject, "\(model.id(of: target)) does not exist")
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

    /// The members as the save leaves them so far.
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

    /// How many members the save leaves so far, exactly up to `bound`, and more than that if there are more.
    ///
    /// Cost: that of `bound` members and of those that the save takes away, however many there are.
    func memberCount(
        of owner: ObjectReference, _ slot: Int, _ relationship: CompiledRelationship,
        upTo bound: Int
    ) throws -> Int {
        let working = objects[owner.number]
        let delta = working?.delta(slot) ?? LinkDelta(slot)
        guard working?.isInserted != true else { return delta.added.count }
        let most = min(bound, .max >> 1) + 1 + delta.removed.count
        let stored = try store.memberCount(of: owner.number, relationship, atMost: most)
        return stored - delta.removed.count + delta.added.count
    }

    // MARK: Deletion

    /// Deletes an object and follows its delete rules; what the rule `deny` guards is kept for ``denials``.
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

    /// Throws `limitExceeded` when these are too many beside what deletions took along so far, before they are loaded.
    private func checkRoom(for members: [ObjectReference]) throws(TandemError) {
        guard objects.count + members.count > most else { return }
        let new = members.count { objects[$0.number] == nil }
        guard objects.count + new > most else { return }
        throw TandemError(.limitExceeded, "deletions take along more than \(most) objects")
    }

    /// Takes an object out of a relationship; returns what its deletion takes along.
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
