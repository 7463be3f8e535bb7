import Tandem

/// One JSON object per line; its keys are sorted and never renamed.
///
/// The bytes are written directly, because building a tree of values for each change costs more
/// than all other work.
struct JSONFormat: EntryFormat {
    /// The keys to print; nil for all.
    var fields: Set<String>?
    private var columns: [ObjectIdentifier: Columns] = [:]
    private var cursors = CursorText()

    init(fields: Set<String>? = nil) { self.fields = fields }

    /// The columns of an entity's rows, sorted by name, each with its key as JSON.
    private struct Columns {
        /// Retained, so that no other entity can have the same `ObjectIdentifier`.
        let entity: CompiledEntity
        let keys: [(slot: Int, name: String, text: String)]

        init(_ entity: CompiledEntity) {
            self.entity = entity
            keys = entity.properties.filter { !$0.isToMany }.sorted { $0.name < $1.name }
                .map { ($0.slot, $0.name, JSON.string($0.name).text + ":") }
        }
    }

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        object(entry, into: &bytes)
        bytes.put("\n")
    }

    private mutating func object(_ entry: LogEntry, into bytes: inout [UInt8]) {
        let (transaction, principal) = (entry.transaction, entry.transaction.principal)
        var members = Members(&bytes)
        text("author", principal.author, &members, &bytes)
        if case .objects(let changes) = transaction.content, begins("changes", &members, &bytes) {
            list(changes, entry, into: &bytes)
        }
        text("context", principal.context, &members, &bytes)
        if let cursor = entry.cursor, begins("cursor", &members, &bytes) {
            cursors.write(cursor, into: &bytes)
        }
        let differences = entry.differences
        if !differences.isEmpty, begins("differences", &members, &bytes) {
            bytes.put(JSON.array(differences.map(\.json)).text)
        }
        number("gid", principal.gid, &members, &bytes)
        if let hash = entry.modelHash { text("model", hash, &members, &bytes) }
        number("pid", principal.pid, &members, &bytes)
        number("position", Int64(transaction.position), &members, &bytes)
        if !transaction.saveID.isEmpty { text("saveId", entry.saveID, &members, &bytes) }
        if begins("time", &members, &bytes) {
            bytes.put(JSON.number(Double(transaction.time) / 1_000_000))
        }
        number("uid", principal.uid, &members, &bytes)
        text("unit", principal.unit, &members, &bytes)
        bytes.put("}")
    }

    /// Writes the braces, commas and keys of an object.
    private struct Members {
        private var isFirst = true

        init(_ bytes: inout [UInt8]) { bytes.put("{") }

        mutating func next(_ key: String, _ bytes: inout [UInt8]) {
            bytes.put(isFirst ? "\"" : ",\"", key, "\":")
            isFirst = false
        }
    }

    /// If a key is to be printed, writes it and returns true; the caller then writes the value.
    private func begins(
        _ key: String, _ members: inout Members, _ bytes: inout [UInt8]
    ) -> Bool {
        if let fields, !fields.contains(key) { return false }
        members.next(key, &bytes)
        return true
    }

    private func text(
        _ key: String, _ text: String, _ members: inout Members, _ bytes: inout [UInt8]
    ) {
        if begins(key, &members, &bytes) { JSON.write(text, into: &bytes) }
    }

    private func number(
        _ key: String, _ number: some BinaryInteger, _ members: inout Members,
        _ bytes: inout [UInt8]
    ) {
        if begins(key, &members, &bytes) { bytes.put(number: number) }
    }

    // MARK: Changes

    private mutating func list(
        _ changes: [Change], _ entry: LogEntry, into bytes: inout [UInt8]
    ) {
        bytes.put("[")
        for (index, change) in changes.enumerated() {
            if index > 0 { bytes.put(",") }
            write(change, entry, into: &bytes)
        }
        bytes.put("]")
    }

    /// Appends a change as a JSON object.
    mutating func write(_ change: Change, _ entry: LogEntry, into bytes: inout [UInt8]) {
        var members = Members(&bytes)
        if let model = entry.model, let entity = entry.entity(of: change) {
            let columns = columns(of: entity)
            if let row = change.row {
                members.next("after", &bytes)
                write(row, columns, model, into: &bytes)
            }
            before(change, columns, model, &members, &bytes)
            members.next("changed", &bytes)
            names(change.changed, entity, into: &bytes)
            if !change.links.isEmpty {
                members.next("links", &bytes)
                links(change, entity, model).write(into: &bytes)
            }
        }
        members.next("object", &bytes)
        JSON.write(entry.id(change.object), into: &bytes)
        members.next("type", &bytes)
        bytes.put("\"", change.kind.word, "\"}")
    }

    private func before(
        _ change: Change, _ columns: Columns, _ model: CompiledModel, _ members: inout Members,
        _ bytes: inout [UInt8]
    ) {
        if let row = change.deleted {
            members.next("before", &bytes)
            write(row, columns, model, into: &bytes)
        } else if change.kind == .update {
            members.next("before", &bytes)
            bytes.put("{")
            var isFirst = true
            for column in columns.keys {
                guard let item = change.before.last(where: { $0.slot == column.slot }) else {
                    continue
                }
                bytes.put(isFirst ? "" : ",", column.text)
                ValueText.write(item.value, model, into: &bytes)
                isFirst = false
            }
            bytes.put("}")
        }
    }

    private func write(
        _ row: Row, _ columns: Columns, _ model: CompiledModel, into bytes: inout [UInt8]
    ) {
        bytes.put("{")
        for (index, column) in columns.keys.enumerated() {
            bytes.put(index > 0 ? "," : "", column.text)
            ValueText.write(
                row.uncheckedValue(column.slot, in: columns.entity), model, into: &bytes)
        }
        bytes.put("}")
    }

    private func names(
        _ mask: PropertyMask, _ entity: CompiledEntity, into bytes: inout [UInt8]
    ) {
        bytes.put("[")
        for (index, slot) in mask.enumerated() {
            if index > 0 { bytes.put(",") }
            JSON.write(entity.properties[slot].name, into: &bytes)
        }
        bytes.put("]")
    }

    private func links(_ change: Change, _ entity: CompiledEntity, _ model: CompiledModel) -> JSON {
        let shown = ShownLink.all(of: change)
        return .array(
            Set(shown.map(\.slot)).sorted().map { slot in
                func members(_ sign: ShownLink.Sign) -> [JSON] {
                    shown.filter { $0.slot == slot && $0.sign == sign }
                        .map { .string(model.id(of: $0.target).description) }
                }
                var json: [String: JSON] = [
                    "property": .string(entity.properties[slot].name),
                    "added": .array(members(.added)), "removed": .array(members(.removed)),
                ]
                if entity.properties[slot].relationship?.isOrdered == true {
                    json["moved"] = .array(members(.moved))
                }
                return .object(json)
            })
    }

    private mutating func columns(of entity: CompiledEntity) -> Columns {
        if let known = columns[ObjectIdentifier(entity)] { return known }
        let made = Columns(entity)
        columns[ObjectIdentifier(entity)] = made
        return made
    }
}

extension Change.Kind {
    /// The names of all kinds of changes.
    static let words = [Change.Kind.insert, .update, .delete, .touch].map(\.word)

    /// The name of the kind, the same in every format.
    var word: String {
        switch self {
        case .insert: "insert"
        case .update: "update"
        case .delete: "delete"
        case .touch: "touch"
        }
    }
}
