import Tandem

/// Batches, which the daemon carries out as several transactions.
extension Bridge {
    /// The keys common to all kinds of `batch` requests.
    private static let keys = ["do", "id", "context"]

    func batch(_ members: [String: JSON]) throws -> Answer {
        let kinds = ["update", "delete", "insert"].filter { members[$0] != nil }
        guard kinds.count == 1, let kind = kinds.first else {
            throw TandemError(
                .usage, "a batch needs exactly one of `update`, `delete` and `insert`")
        }
        let own =
            kind == "insert"
            ? ["rows"] : ["where", "arguments"] + (kind == "update" ? ["set"] : [])
        let request = try BridgeRequest("`batch`", members, keys: Self.keys + [kind] + own)
        let name = try request.required(kind, request.string(kind))
        let context = try context(request)
        let result: BatchResult
        switch kind {
        case "insert": result = try insert(name, request, context)
        case "update":
            let set = try request.required("set", request.object("set"))
            result = try context.execute(
                BatchUpdateRequest(
                    FetchRequest(entity: name, predicate: try predicate(request)),
                    set: try values(set, of: try entity(name))))
        default:
            result = try context.execute(
                BatchDeleteRequest(
                    FetchRequest(entity: name, predicate: try predicate(request))))
        }
        return Answer(
            members: ["count": .int(Int64(result.count)), "position": .null],
            position: result.position.number)
    }

    private func insert(
        _ name: String, _ request: BridgeRequest, _ context: ManagedObjectContext
    ) throws -> BatchResult {
        let rows = try request.required("rows", request.array("rows"))
        let entity = try entity(name)
        // All rows are parsed first, so that no row is inserted if one is invalid.
        let values = try rows.map { row in
            guard let members = row.object else {
                throw TandemError(.usage, "a row must be a JSON object, not \(row.text)")
            }
            return try self.values(members, of: entity)
        }
        return try context.execute(BatchInsertRequest(entity: name, rows: values))
    }

    private func entity(_ name: String) throws -> CompiledEntity {
        let model = try container.compiledModel()
        guard let entity = model.entity(named: name) else { throw model.unknownEntity(name) }
        return entity
    }

    private func values(
        _ members: [String: JSON], of entity: CompiledEntity
    ) throws -> BatchValues {
        var values = BatchValues([:])
        for (name, json) in members {
            guard let property = entity.property(named: name) else {
                throw entity.unknownProperty(name)
            }
            if let type = property.attribute?.type {
                values.attributes[name] = try value(json, type, property, entity)
            } else if property.isToMany {
                guard let ids = json.array else {
                    throw TandemError(
                        .usage, "`\(name)` must be an array of object ids, not \(json.text)")
                }
                values.objects[name] = try ids.map { try id($0) }
            } else {
                values.objects[name] = json == .null ? [] : [try id(json)]
            }
        }
        return values
    }

    private func value(
        _ json: JSON, _ type: AttributeType, _ property: CompiledProperty,
        _ entity: CompiledEntity
    ) throws(TandemError) -> PropertyValue {
        guard let value = PropertyValue(json: json, type: type), property.accepts(value) else {
            throw TandemError(
                .validation,
                problems: [
                    ValidationProblem(
                        object: ObjectID(entity: entity.name, number: 0), property: property.name,
                        message: type.mismatch(json.text))
                ])
        }
        return value
    }
}
