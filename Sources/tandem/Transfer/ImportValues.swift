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
                values.attributes[name] = try value(
                    field, type, property, isCopy: row.isCopy)
            } else if !row.isCopy || property.relationship?.inverseToMany ?? true {
                values.objects[name] = try ids(field, property)
            }
        }
        return values
    }

    private static func value(
        _ field: ImportRow.Field, _ type: AttributeType, _ property: CompiledProperty,
        isCopy: Bool
    ) throws(Misfit) -> Value {
        let value =
            switch field {
            case .json(let json): Value(json: json, type: type)
            case .text(let text): cell(text, type, isCopy: isCopy)
            }
        guard let value, property.accepts(value) else {
            throw Misfit(
                reason: "\(property.name) needs a value of type \(type.rawValue), not "
                    + field.json.text + (field.isCell ? CellValue.forms(type) : ""))
        }
        return value
    }

    /// The value of a cell, nil for what is none.
    ///
    /// As cells of a map are read, but for Booleans, which are true and false, and for dates of what `tandem export` writes, which are seconds.
    private static func cell(_ text: String?, _ type: AttributeType, isCopy: Bool) -> Value? {
        guard let text else { return .null }
        switch type {
        case .bool: return parsed(text, type)
        case .date:
            return (isCopy ? parsed(text, type) : nil) ?? CellValue.read(text, type)
        default: return CellValue.read(text, type)
        }
    }

    /// The value that a text is as JSON; nil for what is none.
    private static func parsed(_ text: String, _ type: AttributeType) -> Value? {
        guard let json = try? JSON(parsing: text), json != .null else { return nil }
        return Value(json: json, type: type)
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
