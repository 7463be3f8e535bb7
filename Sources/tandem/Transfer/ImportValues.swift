import Tandem

/// What a row sets in an object of an entity.
enum ImportValues {
    /// Why a row does not fit.
    struct Misfit: Error {
        var reason: String
    }

    /// The values of a row; throws ``Misfit`` for a name or value that the entity does not have.
    ///
    /// A copy of an object does not take over what leads to one object only: that would go from the object that has it.
    static func values(
        _ row: ImportRow, of entity: CompiledEntity
    ) throws(Misfit) -> BatchValues {
        if let problem = row.problem { throw Misfit(reason: problem) }
        var values = BatchValues([:])
        for (name, field) in row.fields.sorted(by: { $0.key < $1.key }) {
            guard let property = entity.property(named: name) else {
                throw Misfit(reason: "\(entity.name) has no property \(name)")
            }
            if let problem = property.settingProblem { throw Misfit(reason: "\(name): \(problem)") }
            if let type = property.attribute?.type {
                values.attributes[name] = try value(field, type, property)
            } else if !row.isCopy || property.relationship?.inverseToMany ?? true {
                values.objects[name] = try ids(field, property)
            }
        }
        return values
    }

    /// What stands for an infinite number.
    static func infinity(_ number: Double) -> String { number < 0 ? "-Infinity" : "Infinity" }

    private static func value(
        _ field: ImportRow.Field, _ type: AttributeType, _ property: CompiledProperty
    ) throws(Misfit) -> Value {
        let json = json(field, type)
        if type == .double, let text = json.string,
            let number = [Double.infinity, -.infinity].first(where: { infinity($0) == text })
        {
            return .double(number)
        }
        guard let value = Value(json: json, type: type), property.accepts(value) else {
            throw Misfit(
                reason: "\(property.name) needs a value of type \(type.rawValue), not \(json.text)")
        }
        return value
    }

    /// A cell as the JSON that its type wants; what does not fit stays a string, and is refused as such.
    private static func json(_ field: ImportRow.Field, _ type: AttributeType) -> JSON {
        switch (field, type) {
        case (.json(let json), _): return json
        case (.text(nil), _): return .null
        case (.text(let text?), .bool), (.text(let text?), .int), (.text(let text?), .double),
            (.text(let text?), .date):
            let parsed = try? JSON(parsing: text)
            return parsed.flatMap { $0 == .null ? nil : $0 } ?? .string(text)
        case (.text(let text?), _): return .string(text)
        }
    }

    private static func ids(
        _ field: ImportRow.Field, _ property: CompiledProperty
    ) throws(Misfit) -> [ObjectID] {
        let texts: [JSON] =
            switch field {
            case .json(.null), .text(nil): []
            case .json(.array(let texts)): texts
            case .json(let text): [text]
            case .text(let text?):
                text.split(separator: " ").map { .string(String($0)) }
            }
        var ids: [ObjectID] = []
        for text in texts {
            guard let id = text.string.flatMap({ ObjectID($0) }) else {
                throw Misfit(
                    reason: "\(property.name) leads to objects such as Team/3, not \(text.text)")
            }
            ids.append(id)
        }
        return ids
    }
}
