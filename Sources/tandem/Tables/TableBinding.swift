import Tandem

/// Resolves the names in a map to columns of a file and properties of the model.
struct TableBinding {
    private let table: ImportMap.Table
    private let columns: [String: Int]
    private let model: CompiledModel
    let entity: CompiledEntity

    /// Resolves the entity; throws ``CommandFailure`` if the entity or a column does not exist.
    init(_ table: ImportMap.Table, _ columns: [String], _ model: CompiledModel) throws {
        self.table = table
        self.model = model
        self.columns = Dictionary(
            columns.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        entity = try Self.entity(table, model)
        let missing = table.columns.subtracting(columns).sorted()
        guard missing.isEmpty else {
            throw CommandFailure(
                "\(table.name) has no column \(missing.joined(separator: ", ")); the columns are "
                    + columns.joined(separator: ", "), code: 2)
        }
    }

    /// Returns the entity of a file's rows; throws ``CommandFailure`` if there is no such entity.
    static func entity(
        _ table: ImportMap.Table, _ model: CompiledModel
    ) throws -> CompiledEntity {
        guard let entity = model.entity(named: table.entity) else {
            throw CommandFailure(
                "\(table.name): \(model.unknownEntity(table.entity).message)", code: 2)
        }
        return entity
    }

    // MARK: Attributes

    func attributes() throws -> [TablePlan.Attribute] {
        try table.attributes.sorted { $0.key < $1.key }.map { name, source in
            let property = try property(name)
            guard let type = property.attribute?.type else {
                throw failure("\(name) is a relationship; move it to `relationships`")
            }
            guard property.derivation == nil else {
                throw failure("\(name) is derived and cannot be set; remove it")
            }
            return TablePlan.Attribute(
                property: property, type: type, source: try found(source, property, type),
                hasDefault: !entity.defaults[property.slot].isNull)
        }
    }

    private func found(
        _ source: ImportMap.Source, _ property: CompiledProperty, _ type: AttributeType
    ) throws -> TablePlan.Source {
        switch source {
        case .constant(let json): return .constant(try value(json, property, type))
        case .column(let name, let values, let nulls):
            return .cell(
                columns[name] ?? 0, values: try values.mapValues { try value($0, property, type) },
                nulls: TablePlan.NullTexts(nulls ?? table.nulls))
        case .date(let parts, let partial):
            guard type == .date else {
                throw failure(
                    "\(property.name) has the type \(type.rawValue), so it cannot be composed of date parts"
                )
            }
            let found = parts.map { (part: $0.key, column: columns[$0.value] ?? 0) }
            return .date(
                found.sorted { $0.part.rawValue < $1.part.rawValue }, partial: partial,
                nulls: TablePlan.NullTexts(table.nulls))
        }
    }

    private func value(
        _ json: JSON, _ property: CompiledProperty, _ type: AttributeType
    ) throws -> PropertyValue {
        guard let value = PropertyValue(json: json, type: type), property.accepts(value) else {
            throw failure(
                "\(property.name): " + type.mismatch(json.text))
        }
        return value
    }

    // MARK: Links

    func links() throws -> [TablePlan.Link] { try table.links.map(link) }

    private func link(_ link: ImportMap.Link) throws -> TablePlan.Link {
        let property = try property(link.name)
        guard let relationship = property.relationship,
            let destination = model.entity(tagged: relationship.destination)
        else { throw failure("\(link.name) is an attribute; move it to `attributes`") }
        guard !relationship.toMany else {
            throw failure(
                "\(link.name) is to-many; map its inverse \(relationship.declaration.inverse)")
        }
        guard destination.uniqueness.contains(where: { $0.properties == [link.key] }),
            let key = destination.property(named: link.key), let type = key.attribute?.type
        else { throw failure("\(destination.name) has no unique attribute \(link.key)") }
        let found = TablePlan.Link(
            property: property, destination: destination, key: key, type: type,
            column: columns[link.column] ?? 0, missing: link.missing)
        try check(found)
        return found
    }

    /// Throws if the map's treatment of missing objects contradicts the model.
    private func check(_ link: TablePlan.Link) throws {
        if link.missing == .nil, link.property.needsValue {
            throw failure(
                "\(link.property.name) is not optional; `missing` must be reject or create")
        }
        guard link.missing == .create else { return }
        let destination = link.destination
        let needed = destination.properties.first { property in
            property.needsValue && property.slot != link.key.slot
                && destination.defaults[property.slot].isNull
        }
        if let needed {
            throw failure(
                "\(link.property.name) cannot create a \(destination.name): its \(needed.name) "
                    + "needs a value; `missing` must be nil or reject")
        }
    }

    // MARK: Properties

    /// Throws if a property needs a value but is neither mapped nor has a default.
    func checkRequired() throws {
        let set = Set(table.attributes.keys).union(table.links.map(\.name))
        for property in entity.properties where !set.contains(property.name) {
            guard property.needsValue, entity.defaults[property.slot].isNull else { continue }
            throw failure("\(entity.name) needs a value for \(property.name); map a column to it")
        }
    }

    private func property(_ name: String) throws -> CompiledProperty {
        guard let property = entity.property(named: name) else {
            throw failure(entity.unknownProperty(name).message)
        }
        return property
    }

    private func failure(_ message: String) -> CommandFailure {
        CommandFailure("\(table.name): \(message)", code: 2)
    }
}

extension ImportMap.Table {
    /// A string that identifies the map of a file, and is the same in every process.
    var canonical: String {
        let sources = attributes.sorted { $0.key < $1.key }.map { name, source in
            switch source {
            case .column(let column, let values, let nulls):
                "\(name) \(column) \(JSON.object(values).text) \(nulls?.sorted() ?? [])"
            case .date(let parts, let partial):
                "\(name) \(parts.sorted { $0.key.rawValue < $1.key.rawValue }) \(partial)"
            case .constant(let json): "\(name) = \(json.text)"
            }
        }
        let links = links.map { "\($0.name) \($0.key) \($0.column) \($0.missing)" }
        return "\(entity) \(sources) \(links) \(nulls.sorted()) \(delimiter)"
    }
}
