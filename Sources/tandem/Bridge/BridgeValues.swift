import Tandem

/// Conversions of values between JSON and the graph.
enum BridgeValues {
    /// Returns a value as JSON; references are printed as ids.
    static func json(_ value: PropertyValue, _ model: CompiledModel?) -> JSON {
        guard let model else { return value.json }
        return ValueText.json(value, model)
    }

    /// Returns an object as JSON, with the named properties or, if `properties` is nil, with all
    /// properties except to-many relationships.
    static func json(
        _ object: ManagedObject, properties: [String]?, _ model: CompiledModel
    ) -> JSON {
        var values: [String: JSON] = [:]
        for property in object.entity.properties {
            if let properties {
                guard properties.contains(property.name) else { continue }
            } else if property.isToMany {
                continue
            }
            if property.isToMany {
                let members = object.orderedObjects(property.name).map(\.id)
                values[property.name] = JSON(object.entity.shown(members, of: property.name))
            } else {
                values[property.name] = json(object[property.name], model)
            }
        }
        return .object([
            "id": JSON(object.id), "entity": .string(object.entityName), "values": .object(values),
        ])
    }

    /// Returns an earlier state of an object as JSON, with the named properties or, if `properties`
    /// is nil, with all properties in the snapshot.
    static func json(
        _ object: ObjectSnapshot, properties: [String]?, _ model: CompiledModel,
        _ context: ManagedObjectContext
    ) throws -> JSON {
        var values: [String: JSON] = [:]
        for (name, value) in object.values where properties?.contains(name) ?? true {
            values[name] = json(try context.tools.withContent(value), model)
        }
        for (name, members) in object.members {
            let entity = model.entity(named: object.id.entity)
            values[name] = JSON(entity?.shown(members, of: name) ?? members)
        }
        return .object([
            "id": JSON(object.id), "entity": .string(object.id.entity), "values": .object(values),
        ])
    }

    /// Parses an argument of a predicate; `{"object": ID}` refers to an object.
    static func argument(
        _ json: JSON, _ id: (JSON) throws -> ObjectID
    ) throws -> PredicateArgument {
        switch json {
        case .null: return .value(.null)
        case .bool(let value): return .value(.bool(value))
        case .int(let value): return .value(.int(value))
        case .double(let value): return .value(.double(value))
        case .string(let value): return .value(.string(value))
        case .array(let elements): return .list(try elements.map { try argument($0, id) })
        case .object(let members):
            guard members.count == 1, let object = members["object"] else {
                throw TandemError(
                    .usage,
                    "an argument must be a value, an array or {\"object\": ID}, not \(json.text)"
                )
            }
            return .object(try id(object))
        }
    }

    /// Parses a key of a sort order.
    static func sortKey(_ json: JSON) throws(TandemError) -> SortKey<ManagedObject> {
        if let text = json.string {
            guard let key = SortKey<ManagedObject>(text) else {
                throw TandemError(
                    .usage, "`\(text)` is not a sort key; give \(SortKey<ManagedObject>.form)")
            }
            return key
        }
        let request = try BridgeRequest(
            "a sort key", json: json, keys: ["key", "ascending", "selector"])
        let path = try request.required("key", request.string("key"))
        let name = try request.string("selector") ?? SortKey<ManagedObject>.Selector.compare.name
        guard let selector = SortKey<ManagedObject>.Selector(name: name) else {
            throw TandemError(
                .usage,
                "`\(name)` is not a selector; the selectors are \(SortKey<ManagedObject>.Selector.names)"
            )
        }
        return SortKey<ManagedObject>(
            path, ascending: try request.bool("ascending") ?? true, selector: selector)
    }
}
