/// The JSON form of a model, as `tandem schema` prints it and the bridge accepts it.
extension ManagedObjectModel {
    /// Reads a model from its JSON form; unknown keys are errors, so that typos are detected.
    ///
    /// Throws ``ModelError`` with every problem found.
    package init(json: JSON) throws(ModelError) {
        var parser = ModelParser()
        self = parser.model(json)
        guard parser.problems.isEmpty else { throw ModelError(parser.problems) }
    }

    /// Reads a model from a JSON text.
    ///
    /// Throws ``ModelError``.
    public init(parsing text: String) throws(ModelError) {
        let json: JSON
        do {
            json = try JSON(parsing: text)
        } catch {
            throw ModelError([ModelProblem("the text is not JSON")])
        }
        try self.init(json: json)
    }

    /// The JSON form, without members that have default values.
    package var json: JSON {
        .object(["entities": .object(entities.mapValues(\.json))])
    }
}

extension Entity {
    fileprivate init(name: String) { self.init(name, { [] }) }

    fileprivate var json: JSON {
        var members: [String: JSON] = [:]
        if let parent { members["parent"] = .string(parent) }
        if !attributes.isEmpty { members["attributes"] = .object(attributes.mapValues(\.json)) }
        if !relationships.isEmpty {
            members["relationships"] = .object(relationships.mapValues(\.json))
        }
        if !uniqueness.isEmpty { members["uniqueness"] = Entity.lists(uniqueness) }
        if !indexes.isEmpty { members["indexes"] = Entity.lists(indexes) }
        if let renamedFrom { members["renamedFrom"] = .string(renamedFrom) }
        return .object(members)
    }

    private static func lists(_ lists: [[String]]) -> JSON {
        .array(lists.map { .array($0.map { .string($0) }) })
    }
}

extension Attribute {
    fileprivate var json: JSON {
        var members: [String: JSON] = ["type": .string(type.rawValue)]
        if !optional { members["optional"] = .bool(false) }
        if !defaultValue.isNull { members["default"] = defaultValue.modelJSON }
        if let allowedValues { members["values"] = .array(allowedValues.map(\.modelJSON)) }
        if let minimum { members["min"] = minimum.json }
        if let maximum { members["max"] = maximum.json }
        if let pattern { members["pattern"] = .string(pattern) }
        if let derived { members["derived"] = .string(derived.description) }
        if let renamedFrom { members["renamedFrom"] = .string(renamedFrom) }
        return .object(members)
    }
}

extension Relationship {
    fileprivate var json: JSON {
        var members: [String: JSON] = ["to": .string(destination), "inverse": .string(inverse)]
        if toMany { members["toMany"] = .bool(true) }
        if ordered { members["ordered"] = .bool(true) }
        if deleteRule != .nullify { members["deleteRule"] = .string(deleteRule.rawValue) }
        if !optional { members["optional"] = .bool(false) }
        if let minimum { members["min"] = .int(Int64(minimum)) }
        if let maximum { members["max"] = .int(Int64(maximum)) }
        if let renamedFrom { members["renamedFrom"] = .string(renamedFrom) }
        return .object(members)
    }
}

/// A parser of the JSON form that collects the problems it finds.
private struct ModelParser {
    var problems: [ModelProblem] = []
    var entity: String?
    var property: String?

    mutating func problem(_ message: String) {
        problems.append(ModelProblem(entity: entity, property: property, message))
    }

    mutating func model(_ json: JSON) -> ManagedObjectModel {
        let members = object(json, ["entities"], "the model")
        guard let entities = members["entities"]?.object else {
            problem("the model needs `entities`, an object of entities by name")
            return ManagedObjectModel()
        }
        var model = ManagedObjectModel()
        for (name, json) in entities.sorted(by: { $0.key < $1.key }) {
            entity = name
            model.entities[name] = self.entity(name, json)
        }
        return model
    }

    mutating func entity(_ name: String, _ json: JSON) -> Entity {
        let keys = [
            "parent", "attributes", "relationships", "uniqueness", "indexes", "renamedFrom",
        ]
        let members = object(json, keys, "the entity")
        var entity = Entity(name: name)
        entity.parent = string(members["parent"], "parent")
        entity.uniqueness = lists(members["uniqueness"], "uniqueness")
        entity.indexes = lists(members["indexes"], "indexes")
        entity.renamedFrom = string(members["renamedFrom"], "renamedFrom")
        for (name, json) in properties(members["attributes"], "attributes") {
            property = name
            entity.attributes[name] = attribute(name, json)
        }
        for (name, json) in properties(members["relationships"], "relationships") {
            property = name
            entity.relationships[name] = relationship(name, json)
        }
        property = nil
        return entity
    }

    mutating func attribute(_ name: String, _ json: JSON) -> Attribute? {
        let keys = [
            "type", "optional", "default", "values", "min", "max", "pattern", "derived",
            "renamedFrom",
        ]
        let members = object(json, keys, "the attribute")
        guard let text = members["type"]?.string, let type = AttributeType(rawValue: text) else {
            let known = AttributeType.allCases.map(\.rawValue).joined(separator: ", ")
            problem("`type` must be one of \(known)")
            return nil
        }
        var attribute = Attribute(name, type)
        attribute.optional = bool(members["optional"], "optional", true)
        attribute.defaultValue = value(members["default"], type, "default")
        if let values = members["values"] {
            guard let values = values.array else {
                problem("`values` must be an array")
                return nil
            }
            attribute.allowedValues = values.map { value($0, type, "values") }
        }
        attribute.minimum = number(members["min"], "min")
        attribute.maximum = number(members["max"], "max")
        attribute.pattern = string(members["pattern"], "pattern")
        attribute.derived = derivation(members["derived"])
        attribute.renamedFrom = string(members["renamedFrom"], "renamedFrom")
        return attribute
    }

    mutating func derivation(_ json: JSON?) -> Derivation? {
        guard let text = string(json, "derived") else { return nil }
        let derivation = Derivation(text)
        if derivation == nil { problem("`derived` must be \(Derivation.form)") }
        return derivation
    }

    mutating func relationship(_ name: String, _ json: JSON) -> Relationship? {
        let keys = [
            "to", "inverse", "toMany", "ordered", "deleteRule", "optional", "min", "max",
            "renamedFrom",
        ]
        let members = object(json, keys, "the relationship")
        guard let to = string(members["to"], "to"),
            let inverse = string(members["inverse"], "inverse")
        else {
            problem(
                "a relationship needs `to`, an entity, and `inverse`, the inverse relationship's name"
            )
            return nil
        }
        var relationship = Relationship(name, to: to, inverse: inverse)
        relationship.toMany = bool(members["toMany"], "toMany", false)
        relationship.ordered = bool(members["ordered"], "ordered", false)
        relationship.optional = bool(members["optional"], "optional", true)
        relationship.minimum = count(members["min"], "min")
        relationship.maximum = count(members["max"], "max")
        relationship.renamedFrom = string(members["renamedFrom"], "renamedFrom")
        if let text = string(members["deleteRule"], "deleteRule") {
            guard let rule = DeleteRule(rawValue: text) else {
                let known = DeleteRule.allCases.map(\.rawValue).joined(separator: ", ")
                problem("`deleteRule` must be one of \(known)")
                return nil
            }
            relationship.deleteRule = rule
        }
        return relationship
    }

    // MARK: Helpers

    mutating func object(_ json: JSON, _ keys: [String], _ what: String) -> [String: JSON] {
        guard let members = json.object else {
            problem("\(what) must be a JSON object")
            return [:]
        }
        for key in members.keys.sorted() where !keys.contains(key) {
            problem(
                "\(what) has an unknown key `\(key)`; the keys are \(keys.joined(separator: ", "))")
        }
        return members
    }

    mutating func properties(_ json: JSON?, _ key: String) -> [(key: String, value: JSON)] {
        guard let json else { return [] }
        guard let members = json.object else {
            problem("`\(key)` must be an object of properties by name")
            return []
        }
        return members.sorted { $0.key < $1.key }
    }

    mutating func string(_ json: JSON?, _ key: String) -> String? {
        guard let json, json != .null else { return nil }
        if json.string == nil { problem("`\(key)` must be a string") }
        return json.string
    }

    mutating func bool(_ json: JSON?, _ key: String, _ standard: Bool) -> Bool {
        guard let json else { return standard }
        if json.bool == nil { problem("`\(key)` must be true or false") }
        return json.bool ?? standard
    }

    mutating func number(_ json: JSON?, _ key: String) -> NumberLimit? {
        switch json {
        case nil, .null: return nil
        case .int(let value): return NumberLimit(value)
        case .double(let value) where !value.isNaN: return NumberLimit(value)
        default:
            problem("`\(key)` must be a number")
            return nil
        }
    }

    mutating func count(_ json: JSON?, _ key: String) -> Int? {
        guard let json, json != .null else { return nil }
        if json.int == nil { problem("`\(key)` must be a whole number") }
        return json.int.map { Int($0) }
    }

    mutating func lists(_ json: JSON?, _ key: String) -> [[String]] {
        guard let json else { return [] }
        let lists = json.array?.map { $0.array?.compactMap(\.string) ?? [] }
        guard let lists, lists.allSatisfy({ !$0.isEmpty }) else {
            problem("`\(key)` must be an array of arrays of property names")
            return []
        }
        return lists
    }

    mutating func value(_ json: JSON?, _ type: AttributeType, _ key: String) -> PropertyValue {
        guard let json else { return .null }
        guard let value = PropertyValue(json: json, type: type) else {
            problem("`\(key)` must have values of type \(type.rawValue)")
            return .null
        }
        return value
    }
}
