/// Validation of models; the messages say how to fix the problems.
enum ModelCheck {
    static func problems(in model: ManagedObjectModel) -> [ModelProblem] {
        var problems: [ModelProblem] = []
        for (_, entity) in model.entities.sorted(by: { $0.key < $1.key }) {
            problems += check(entity, model)
        }
        for name in model.repeatedNames.sorted() {
            problems.append(
                ModelProblem(entity: name, "two entities have this name; rename one of them"))
        }
        return problems
    }

    private static func check(_ entity: Entity, _ model: ManagedObjectModel) -> [ModelProblem] {
        var problems: [ModelProblem] = []
        func problem(_ property: String?, _ message: String) {
            problems.append(ModelProblem(entity: entity.name, property: property, message))
        }
        if !isIdentifier(entity.name) {
            problem(nil, "the name is not an identifier; use letters, digits and _")
        }
        guard let lineage = model.lineage(of: entity.name) else {
            problem(
                nil,
                "the parent `\(entity.parent ?? "")` does not exist or is a subentity of this entity"
            )
            return problems
        }
        let inherited = Set(lineage.dropFirst().flatMap { $0.ownNames })
        for name in entity.ownNames.sorted() {
            if !isIdentifier(name) {
                problem(name, "the name is not an identifier; use letters, digits and _")
            }
            if inherited.contains(name) {
                problem(name, "a parent already has a property of this name")
            }
            if entity.attributes[name] != nil, entity.relationships[name] != nil {
                problem(name, "an attribute and a relationship have this name; rename one of them")
            }
        }
        for name in entity.repeatedNames.sorted() {
            problem(name, "two properties have this name; rename one of them")
        }
        let all = lineage.flatMap(\.ownNames)
        if all.count > PropertyMask.capacity {
            problem(
                nil,
                "the entity has \(all.count) properties; the maximum is \(PropertyMask.capacity)")
        }
        for (_, attribute) in entity.attributes.sorted(by: { $0.key < $1.key }) {
            for message in check(attribute) + check(derived: attribute, lineage) {
                problem(attribute.name, message)
            }
        }
        for (_, relationship) in entity.relationships.sorted(by: { $0.key < $1.key }) {
            for message in check(relationship, of: entity, model) {
                problem(relationship.name, message)
            }
        }
        for list in entity.uniqueness + entity.indexes {
            for message in check(list, lineage) { problem(nil, message) }
        }
        for name in Set(entity.uniqueness.joined()).sorted()
        where lineage.contains(where: { $0.attributes[name]?.derived != nil }) {
            problem(name, "uniqueness cannot use derived attributes")
        }
        return problems
    }

    private static func check(_ attribute: Attribute) -> [String] {
        var messages: [String] = []
        messages += check(pattern: attribute)
        let values = [attribute.defaultValue] + (attribute.allowedValues ?? [])
        for value in values where !value.isNull && value.type != attribute.type {
            messages.append("default and allowed values must be of type \(attribute.type.rawValue)")
        }
        for value in values where value.inRow.isOutside {
            messages.append(
                "default and allowed values must have at most \(BlobReference.inlineLimit) bytes")
        }
        if let low = attribute.minimum, let high = attribute.maximum, low > high {
            messages.append("`min` is above `max`")
        }
        return messages
    }

    private static func check(pattern attribute: Attribute) -> [String] {
        guard let text = attribute.pattern else { return [] }
        guard attribute.type == .string || attribute.type == .url else {
            return ["`pattern` applies to strings and URLs only"]
        }
        do {
            _ = try TextPattern(text)
            return []
        } catch {
            return ["`pattern` cannot be parsed: \(error)"]
        }
    }

    private static func check(
        _ relationship: Relationship, of entity: Entity, _ model: ManagedObjectModel
    ) -> [String] {
        var messages: [String] = []
        if relationship.ordered, !relationship.toMany {
            messages.append("`ordered` applies to to-many relationships only")
        }
        messages += check(counts: relationship)
        guard let destination = model.entities[relationship.destination] else {
            return messages + ["the destination `\(relationship.destination)` is not an entity"]
        }
        guard let inverse = destination.relationships[relationship.inverse] else {
            return messages + [
                "its inverse `\(destination.name).\(relationship.inverse)` does not exist; declare it in "
                    + destination.name
            ]
        }
        if inverse.destination != entity.name || inverse.inverse != relationship.name {
            messages.append(
                "its inverse `\(destination.name).\(inverse.name)` must refer to \(entity.name) "
                    + "and name `\(relationship.name)` as its inverse")
        }
        return messages
    }

    private static func check(counts relationship: Relationship) -> [String] {
        let (low, high) = (relationship.minimum, relationship.maximum)
        guard low != nil || high != nil else { return [] }
        guard relationship.toMany else {
            return ["`min` and `max` apply to to-many relationships only"]
        }
        if low ?? 0 < 0 || high ?? 1 < 1 {
            return ["`min` must be at least 0, and `max` at least 1"]
        }
        return low ?? 0 > high ?? .max ? ["`min` is above `max`"] : []
    }

    private static func check(_ list: [String], _ lineage: [Entity]) -> [String] {
        list.compactMap { name in
            let isAttribute = lineage.contains { $0.attributes[name] != nil }
            let isToOne = lineage.contains { $0.relationships[name]?.toMany == false }
            return isAttribute || isToOne
                ? nil
                : "uniqueness and indexes need attributes or to-one relationships, and `\(name)` is not one"
        }
    }

    static func isIdentifier(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.count <= 128
            && name.isPrintable
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || $0 == 0x5f
                    || (0x61...0x7a).contains($0) || $0 >= 0x80
            }
    }
}

extension Entity {
    /// The names of the entity's own properties.
    var ownNames: [String] { Array(attributes.keys) + relationships.keys }
}

extension ManagedObjectModel {
    /// Returns the entity and its ancestors, nearest first; nil if a parent is missing or the
    /// lineage is cyclic.
    func lineage(of name: String) -> [Entity]? {
        var lineage: [Entity] = []
        var next: String? = name
        while let name = next {
            guard let entity = entities[name], !lineage.contains(where: { $0.name == name }) else {
                return nil
            }
            lineage.append(entity)
            next = entity.parent
        }
        return lineage
    }
}
