import Tandem

/// Writes the objects of an entity.
struct ExportWriter {
    private let entity: CompiledEntity
    private let model: CompiledModel
    private let format: TransferFormat
    /// The columns of a file with columns, without the id.
    private let columns: [String]
    /// What follows from other values, and is not written: nobody can set it.
    private let derived: [String]

    /// The name of the column of ids where `id` is a property.
    static let idColumn = "@id"

    init(_ entity: CompiledEntity, _ model: CompiledModel, _ format: TransferFormat) {
        self.entity = entity
        self.model = model
        self.format = format
        columns = entity.properties.filter { $0.derivation == nil }.map(\.name).sorted()
        derived = entity.properties.filter { $0.derivation != nil }.map(\.name)
    }

    /// The to-many relationships, whose members are written too.
    var members: [String] { entity.properties.filter(\.isToMany).map(\.name) }

    /// Writes what stands before all objects.
    func begin(into bytes: inout [UInt8]) {
        guard format == .csv else { return }
        let id = columns.contains("id") ? Self.idColumn : "id"
        bytes.put(([id] + columns).map(CSVFormat.quoted).joined(separator: ","), "\r\n")
    }

    /// Writes an object.
    func write(_ object: ObjectSnapshot, into bytes: inout [UInt8]) {
        switch format {
        case .ndjson:
            var values = object.values.mapValues(json)
            for name in derived { values[name] = nil }
            for (name, ids) in object.members {
                values[name] = .array(
                    entity.shown(ids, of: name).map { .string($0.description) })
            }
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

    private func json(_ value: Value) -> JSON { ValueText.json(value, model) }

    private func cell(_ name: String, of object: ObjectSnapshot) -> String {
        if let ids = object.members[name] {
            return entity.shown(ids, of: name).map(\.description).joined(separator: " ")
        }
        let value = object[name]
        if value.isNull { return "" }
        let text = json(value).plain
        // Without quotes it would be no value.
        return text.isEmpty ? "\"\"" : CSVFormat.quoted(text)
    }
}
