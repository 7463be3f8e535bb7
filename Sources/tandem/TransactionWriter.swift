import FoundationEssentials
import Tandem

/// One transaction as text and as JSON; keys are never renamed.
struct TransactionWriter {
    let transaction: Transaction
    /// The position as other processes take it; nil where log and epoch aren't known.
    let cursor: Position?
    /// The model at this place of the journal; without it values can't be read.
    let model: CompiledModel?

    // MARK: Text

    /// One line, as journalctl's: time, position, author with process, what changed.
    var short: String {
        let principal = transaction.principal
        let author = principal.author.isEmpty ? "-" : principal.author
        return "\(time) \(transaction.position) \(author)[\(principal.pid)]: \(summary)"
    }

    /// The time in UTC, to the millisecond.
    var time: String {
        let seconds = Double(transaction.time / 1_000) / 1_000
        return Date(timeIntervalSince1970: seconds)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private var summary: String {
        if case .model = transaction.content {
            return "install model \(model?.hash.description ?? "?")"
        }
        let shown = transaction.changes.prefix(4).map(summary)
        let rest = transaction.changes.count - shown.count
        return (shown + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: "; ")
    }

    private func summary(_ change: Change) -> String {
        let id = model?.id(of: change.object).description ?? "#\(change.object.number)"
        let details =
            change.kind == .delete || change.kind == .insert ? "" : " " + difference(change)
        return "\(change.kind) \(id)\(details)"
    }

    /// The entity of a change that can be read with the model.
    private func entity(of change: Change) -> CompiledEntity? {
        guard let entity = model?.entity(tagged: change.object.tag), change.isValid(for: entity)
        else { return nil }
        return entity
    }

    private func difference(_ change: Change) -> String {
        guard let model, let entity = entity(of: change) else { return "" }
        let values = change.before.map { item in
            let after = change.row?.value(item.slot, in: entity) ?? .null
            return "\(entity.properties[item.slot].name) \(ValueText.short(item.value, model))"
                + "→\(ValueText.short(after, model))"
        }
        let links = change.links.map { link in
            "\(entity.properties[link.slot].name)\(link.isAdded ? "+" : "-")"
                + model.id(of: link.target).description
        }
        return (values + links).joined(separator: " ")
    }

    /// A heading and a line for each change.
    var verbose: [String] {
        let principal = transaction.principal
        var lines = ["\(time)  \(cursor?.description ?? String(transaction.position))"]
        lines.append(
            "    author=\(principal.author) context=\(principal.context) uid=\(principal.uid) "
                + "gid=\(principal.gid) pid=\(principal.pid) unit=\(principal.unit)")
        if case .model = transaction.content { lines.append("    \(summary)") }
        lines += transaction.changes.map { "    \(json($0).text)" }
        return lines
    }

    // MARK: JSON

    /// The whole transaction.
    var json: JSON {
        let principal = transaction.principal
        var members: [String: JSON] = [
            "position": .int(Int64(transaction.position)),
            "time": .double(Double(transaction.time) / 1_000_000),
            "author": .string(principal.author), "context": .string(principal.context),
            "uid": .int(Int64(principal.uid)), "gid": .int(Int64(principal.gid)),
            "pid": .int(Int64(principal.pid)), "unit": .string(principal.unit),
        ]
        if let cursor { members["cursor"] = .string(cursor.description) }
        if !transaction.saveID.isEmpty { members["saveId"] = .string(saveID) }
        switch transaction.content {
        case .model: members["model"] = .string(model?.hash.description ?? "")
        case .objects(let changes): members["changes"] = .array(changes.map(json))
        }
        return .object(members)
    }

    /// A printable save id as it is, another one as base64.
    private var saveID: String {
        let bytes = transaction.saveID
        if bytes.allSatisfy({ (0x20...0x7e).contains($0) }) {
            return String(decoding: bytes, as: UTF8.self)
        }
        return Data(bytes).base64EncodedString()
    }

    private func json(_ change: Change) -> JSON {
        guard let model, let entity = entity(of: change) else {
            return .object([
                "type": .string("\(change.kind)"), "object": .string("#\(change.object.number)"),
            ])
        }
        var members: [String: JSON] = [
            "type": .string("\(change.kind)"),
            "object": .string(model.id(of: change.object).description),
            "changed": .array(change.changed.slots.map { .string(entity.properties[$0].name) }),
        ]
        if let row = change.row { members["after"] = values(row, entity, model) }
        if let row = change.deleted { members["before"] = values(row, entity, model) }
        if change.kind == .update {
            let before = change.before.map {
                (entity.properties[$0.slot].name, ValueText.json($0.value, model))
            }
            members["before"] = .object(Dictionary(before, uniquingKeysWith: { $1 }))
        }
        if !change.links.isEmpty { members["links"] = links(change, entity, model) }
        return .object(members)
    }

    private func values(_ row: Row, _ entity: CompiledEntity, _ model: CompiledModel) -> JSON {
        var members: [String: JSON] = [:]
        for property in entity.properties where !property.isToMany {
            members[property.name] = ValueText.json(row.value(property.slot, in: entity), model)
        }
        return .object(members)
    }

    private func links(_ change: Change, _ entity: CompiledEntity, _ model: CompiledModel) -> JSON {
        let slots = Set(change.links.map(\.slot)).sorted()
        return .array(
            slots.map { slot in
                func members(_ isAdded: Bool) -> JSON {
                    let links = change.links.filter { $0.slot == slot && $0.isAdded == isAdded }
                    return .array(links.map { .string(model.id(of: $0.target).description) })
                }
                return .object([
                    "property": .string(entity.properties[slot].name), "added": members(true),
                    "removed": members(false),
                ])
            })
    }
}
