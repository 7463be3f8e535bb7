import Tandem

/// Parses the values and links of rows.
enum ImportValues {
    /// The reason why a row does not fit its entity.
    struct RowError: Error {
        var reason: String
    }

    /// Returns the values of a row, and its links by relationship.
    ///
    /// Throws ``RowError`` for an unknown name or an invalid value.
    static func read(
        _ row: ImportRow, of entity: CompiledEntity, _ model: CompiledModel
    ) throws(RowError) -> (values: BatchValues, links: [String: [ImportLink]]) {
        if let problem = row.problem { throw RowError(reason: problem) }
        do throws(RowError) {
            return try read(row.fields, isCopy: row.isCopy, of: entity, model)
        } catch {
            // Sorted, so that every run reports the same problem of a row that has several.
            let fields = row.fields.sorted { $0.key < $1.key }
            return try read(fields, isCopy: row.isCopy, of: entity, model)
        }
    }

    private static func read(
        _ fields: some Sequence<(key: String, value: ImportRow.Field)>, isCopy: Bool,
        of entity: CompiledEntity, _ model: CompiledModel
    ) throws(RowError) -> (values: BatchValues, links: [String: [ImportLink]]) {
        var values = BatchValues([:])
        var links: [String: [ImportLink]] = [:]
        for (name, field) in fields {
            guard let property = entity.property(named: name) else {
                throw RowError(reason: entity.unknownProperty(name).message)
            }
            if let problem = property.settingProblem {
                throw RowError(reason: "\(name): \(problem)")
            }
            if let type = property.attribute?.type {
                values.attributes[name] = try value(field, type, property, isCopy: isCopy)
            } else {
                links[name] = try self.links(field, property, model)
            }
        }
        return (values, links)
    }

    private static func value(
        _ field: ImportRow.Field, _ type: AttributeType, _ property: CompiledProperty,
        isCopy: Bool
    ) throws(RowError) -> PropertyValue {
        let value =
            switch field {
            case .json(let json): PropertyValue(json: json, type: type)
            case .text(let text): cell(text, type, isCopy: isCopy)
            }
        guard let value, property.accepts(value) else {
            throw RowError(
                reason: "\(property.name): " + type.mismatch(field.json.text)
                    + (field.isCell ? CellValue.forms(type) : ""))
        }
        return value
    }

    /// Returns the value of a cell, or nil if the text is invalid.
    ///
    /// Cells are parsed as in an import with a map, with two exceptions:
    /// - Booleans are only `true` and `false`.
    /// - Dates in exported rows may be seconds, as `tandem export` writes them.
    private static func cell(_ text: String?, _ type: AttributeType, isCopy: Bool) -> PropertyValue?
    {
        guard let text else { return .null }
        switch type {
        case .bool: return parsed(text, type)
        case .date:
            return (isCopy ? parsed(text, type) : nil) ?? CellValue.read(text, type)
        default: return CellValue.read(text, type)
        }
    }

    /// Parses a string as JSON and returns its value, or nil if the JSON is invalid.
    private static func parsed(_ text: String, _ type: AttributeType) -> PropertyValue? {
        guard let json = try? JSON(parsing: text), json != .null else { return nil }
        return PropertyValue(json: json, type: type)
    }

    /// Parses the links of a field; a cell contains JSON, or ids separated by spaces.
    private static func links(
        _ field: ImportRow.Field, _ property: CompiledProperty, _ model: CompiledModel
    ) throws(RowError) -> [ImportLink] {
        let json: JSON
        switch field {
        case .json(let field): json = field
        case .text(nil): json = .null
        case .text(let text?):
            let isJSON = text.hasPrefix("[") || text.hasPrefix("{")
            json =
                (isJSON ? try? JSON(parsing: text) : nil)
                ?? .array(text.split(separator: " ").map { .string(String($0)) })
        }
        let links = json == .null ? [] : json.array ?? [json]
        guard property.isToMany || links.count <= 1 else {
            throw RowError(
                reason: "\(property.name) refers to at most one object, not \(links.count)")
        }
        return try links.map { link throws(RowError) in try ImportLink(link, property, model) }
    }
}
