import Tandem

/// A transaction as a difference: the value of each property before → after, and each link with
/// the name of its target.
struct DifferenceText {
    let entry: LogEntry
    let logStyle: LogStyle

    /// A heading for each object, followed by a line for each property.
    var lines: [String] {
        if let hash = entry.modelHash {
            return ["install model \(hash.isEmpty ? "?" : hash)"]
                + entry.differences.map { "    \($0)".printable }
        }
        return entry.transaction.changes.flatMap(lines)
    }

    private func lines(_ change: Change) -> [String] {
        let name = logStyle.nameOf(name(change.object)).map { " \($0)" } ?? ""
        let head = logStyle.style.paint(
            "\(change.kind) \(entry.id(change.object))", Style.Role(change.kind))
        guard let entity = entry.entity(of: change) else { return [head + name] }
        let details = values(change, entity) + links(change, entity)
        let width = details.map(\.property.count).max() ?? 0
        return [head + name]
            + details.map { "    \($0.property.padded(to: width + 1))\($0.text)".printable }
    }

    private typealias Detail = (property: String, text: String)

    private func values(_ change: Change, _ entity: CompiledEntity) -> [Detail] {
        switch change.kind {
        case .update:
            change.before.map { item in
                let after = change.row?.uncheckedValue(item.slot, in: entity) ?? .null
                return (
                    entity.properties[item.slot].name, "\(text(item.value)) → \(text(after))"
                )
            }
        case .insert: all(change.row, entity) { "→ \($0)" }
        case .delete: all(change.deleted, entity) { "\($0) →" }
        case .touch: []
        }
    }

    /// Returns all values of a row that are not null.
    private func all(
        _ row: Row?, _ entity: CompiledEntity, _ shown: (String) -> String
    ) -> [Detail] {
        guard let row else { return [] }
        return entity.properties.filter { !$0.isToMany }.compactMap { property in
            let value = row.uncheckedValue(property.slot, in: entity)
            return value.isNull ? nil : (property.name, shown(text(value)))
        }
    }

    private func links(_ change: Change, _ entity: CompiledEntity) -> [Detail] {
        ShownLink.all(of: change).map { link in
            (
                entity.properties[link.slot].name,
                "\(link.sign.rawValue) \(text(.reference(link.target)))"
            )
        }
    }

    private func text(_ value: PropertyValue) -> String {
        guard let model = entry.model else { return "?" }
        let text = ValueText.json(value, model).text
        guard let reference = value.reference else { return text }
        let name = logStyle.nameOf(name(reference)).map { " \($0)" } ?? ""
        return model.id(of: reference).description + name
    }

    private func name(_ object: ObjectReference) -> ObjectName {
        ObjectName(object: object, position: entry.transaction.position)
    }
}
