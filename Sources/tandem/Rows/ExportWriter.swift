import Tandem

/// Writes objects of an entity in the format of an export.
struct ExportWriter {
    private let entity: CompiledEntity
    private let model: CompiledModel
    private let format: TransferFormat
    /// The columns of a CSV file, without the id.
    private let columns: [String]
    /// The derived attributes, which are not written because they can't be set.
    private let derived: [String]
    /// The unique keys of linked objects.
    private let keys: ExportKeys

    /// The name of the id column if the entity has a property `id`.
    static let idColumn = "@id"

    init(
        _ entity: CompiledEntity, _ model: CompiledModel, _ format: TransferFormat,
        _ keys: ExportKeys
    ) {
        self.entity = entity
        self.model = model
        self.format = format
        self.keys = keys
        columns = entity.properties.filter { $0.derivation == nil }.map(\.name).sorted()
        derived = entity.properties.filter { $0.derivation != nil }.map(\.name)
    }

    /// The names of the to-many relationships, whose members are also written.
    var members: [String] { entity.properties.filter(\.isToMany).map(\.name) }

    /// Writes the CSV header; writes nothing in other formats.
    func begin(into bytes: inout [UInt8]) {
        guard format == .csv else { return }
        let id = columns.contains("id") ? Self.idColumn : "id"
        bytes.put(([id] + columns).map(CSVFormat.quoted).joined(separator: ","), "\r\n")
    }

    /// Writes an object.
    func write(_ object: ObjectSnapshot, into bytes: inout [UInt8]) {
        switch format {
        case .ndjson:
            var values: [String: JSON] = [:]
            for (name, value) in object.values { values[name] = json(name, value) }
            for name in derived { values[name] = nil }
            for (name, ids) in object.members { values[name] = members(name, ids) }
            let json = JSON.object([
                "entity": .string(object.id.entity), "id": .string(object.id.description),
                "values": .object(values),
            ])
            bytes.put(json.text, "\n")
        case .csv:
            let cells = columns.map { cell($0, of: object) }
            bytes.put(([object.id.description] + cells).joined(separator: ","), "\r\n")
        }
    }

    private func json(_ name: String, _ value: PropertyValue) -> JSON {
        guard let target = value.reference else { return ValueText.json(value, model) }
        return link(name, model.id(of: target))
    }

    private func members(_ name: String, _ ids: [ObjectID]) -> JSON {
        .array(entity.shown(ids, of: name).map { link(name, $0) })
    }

    /// Returns a link: an id, with the unique key of the object if it has one.
    private func link(_ name: String, _ id: ObjectID) -> JSON {
        guard let key = keys.json(name, id) else { return .string(id.description) }
        return .object(["id": .string(id.description), "key": key])
    }

    private func cell(_ name: String, of object: ObjectSnapshot) -> String {
        if let ids = object.members[name] {
            let links = members(name, ids)
            let texts = (links.array ?? []).map(\.string)
            guard texts.contains(nil) else {
                return texts.compactMap { $0 }.joined(separator: " ")
            }
            return CSVFormat.quoted(links.text)
        }
        let value = object[name]
        if value.isNull { return "" }
        let json = json(name, value)
        let text = json.object == nil ? json.plain : json.text
        // An empty cell without quotation marks means null.
        return text.isEmpty ? "\"\"" : CSVFormat.quoted(text)
    }
}
