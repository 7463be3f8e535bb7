import Tandem

/// Carries out the ops of one save in a context.
@MainActor struct SaveOps {
    let context: ManagedObjectContext
    /// Parses an id, or resolves an alias bound by an earlier save.
    private let id: (JSON) throws -> ObjectID
    /// The objects inserted by this save, by alias.
    private var inserted: [String: ManagedObject] = [:]
    /// All inserted objects in the order of the ops, including those deleted again.
    private(set) var inserts: [ManagedObject] = []
    /// The objects that are retained until the save is settled, so that they receive its outcome.
    private var held: [ManagedObject] = []

    init(context: ManagedObjectContext, id: @escaping (JSON) throws -> ObjectID) {
        self.context = context
        self.id = id
    }

    mutating func carryOut(_ json: JSON) throws {
        let verbs = ["insert", "update", "delete"].filter { json[$0] != nil }
        switch verbs {
        case ["insert"]:
            try insert(try BridgeRequest("an insert", json: json, keys: ["insert", "as", "set"]))
        case ["update"]:
            try update(
                try BridgeRequest(
                    "an update", json: json, keys: ["update", "set", "add", "remove"]))
        case ["delete"]:
            let request = try BridgeRequest("a delete", json: json, keys: ["delete"])
            context.delete(try living(request.required("delete", request["delete"])))
        default:
            throw TandemError(
                .usage, "an op needs exactly one of insert, update and delete, not \(json.text)")
        }
    }

    private mutating func insert(_ op: BridgeRequest) throws {
        let entity = try op.required("insert", op.string("insert"))
        let alias = try op.string("as")
        let values = try op.object("set") ?? [:]
        let object = try context.insert(entity)
        inserts.append(object)
        try set(values, of: object)
        if let alias { inserted[alias] = object }
    }

    private mutating func update(_ op: BridgeRequest) throws {
        let object = try living(op.required("update", op["update"]))
        try set(try op.object("set") ?? [:], of: object)
        for (name, members) in try op.object("add") ?? [:] {
            // A new member is added after the last one, so the current members must be loaded.
            if try toMany(name, of: object).isOrdered {
                try context.tools.loadMembersInPlace(name, of: object)
            }
            for member in try self.members(members, name, of: object) {
                object.add(member, to: name)
            }
        }
        for (name, members) in try op.object("remove") ?? [:] {
            let relationship = try toMany(name, of: object)
            for member in try self.members(members, name, of: object)
            where try isRemovable(member, from: object, relationship) {
                object.remove(member, from: name)
            }
        }
    }

    // MARK: Values

    private mutating func set(_ values: [String: JSON], of object: ManagedObject) throws {
        for (name, json) in values.sorted(by: { $0.key < $1.key }) {
            guard let property = object.entity.property(named: name) else {
                throw object.entity.unknownProperty(name)
            }
            // The context rejects it too, unless setting a source of the value later overwrites it.
            if let refusal = TandemError.derived(property, of: object.id) { throw refusal }
            if property.isToMany {
                try replaceMembers(name, of: object, with: json)
            } else if let relationship = property.relationship {
                let target = json == .null ? nil : try living(json)
                if let target { try check(target, name, relationship, of: object) }
                object.setObject(target, for: name)
            } else {
                try set(json, property, of: object)
            }
        }
    }

    private func set(
        _ json: JSON, _ property: CompiledProperty, of object: ManagedObject
    ) throws(TandemError) {
        guard let type = property.attribute?.type else { return }
        guard let value = PropertyValue(json: json, type: type), property.accepts(value) else {
            throw TandemError(
                .validation,
                problems: [
                    ValidationProblem(
                        object: object.id, property: property.name,
                        message: type.mismatch(json.text))
                ])
        }
        object[property.name] = value
    }

    private mutating func replaceMembers(
        _ name: String, of object: ManagedObject, with json: JSON
    ) throws {
        let wanted = try members(json, name, of: object)
        try context.tools.loadMembersInPlace(name, of: object)
        if try toMany(name, of: object).isOrdered {
            return object.setOrderedObjects(wanted, for: name)
        }
        for member in object.objects(name) where !wanted.contains(member) {
            object.remove(member, from: name)
        }
        for member in wanted { object.add(member, to: name) }
    }

    private mutating func members(
        _ json: JSON, _ name: String, of object: ManagedObject
    ) throws -> [ManagedObject] {
        let relationship = try toMany(name, of: object)
        guard let ids = json.array else {
            throw TandemError(.usage, "`\(name)` must be an array of object ids, not \(json.text)")
        }
        return try ids.map { try living($0) }.map { member in
            try check(member, name, relationship, of: object)
            return member
        }
    }

    /// Throws `usage` if the relationship can't refer to the object.
    private func check(
        _ target: ManagedObject, _ name: String, _ relationship: CompiledRelationship,
        of object: ManagedObject
    ) throws(TandemError) {
        let isUsable = target.entity.ancestors.contains(relationship.destination)
        guard isUsable || target.entity.tag == relationship.destination else {
            throw TandemError(
                .usage,
                relationship.mismatch("\(object.entityName).\(name)", "\(target.id)"))
        }
    }

    private func toMany(
        _ name: String, of object: ManagedObject
    ) throws(TandemError) -> CompiledRelationship {
        guard let property = object.entity.property(named: name) else {
            throw object.entity.unknownProperty(name)
        }
        guard let relationship = property.relationship, relationship.toMany else {
            throw TandemError(
                .usage, "\(object.entityName).\(name) is not a to-many relationship; use `set`")
        }
        return relationship
    }

    /// Returns whether a member may be removed from an object.
    ///
    /// If the inverse is to-one, a member that belongs to another object must not be removed.
    private func isRemovable(
        _ member: ManagedObject, from object: ManagedObject, _ relationship: CompiledRelationship
    ) throws -> Bool {
        guard !relationship.inverseToMany else { return true }
        let owner = member[relationship.declaration.inverse].reference
        _ = try context.connect()
        return owner?.number == object.id.number
    }

    // MARK: Objects

    /// Returns the object with an id or alias without a request; the daemon checks during the save
    /// that the object exists.
    private mutating func living(_ json: JSON) throws -> ManagedObject {
        if let text = json.string, text.utf8.first == UInt8(ascii: "$"),
            let object = inserted[String(text.dropFirst())]
        {
            return try living(object)
        }
        let id = try id(json)
        let object = try context.object(with: id)
        guard object.entityName == id.entity else {
            throw TandemError(
                .unknownObject, "\(id) does not exist; its number belongs to \(object.id)")
        }
        held.append(object)
        return try living(object)
    }

    private func living(_ object: ManagedObject) throws(TandemError) -> ManagedObject {
        guard !object.isDeleted else {
            throw TandemError.unknownObject("\(object.id)")
        }
        return object
    }
}
