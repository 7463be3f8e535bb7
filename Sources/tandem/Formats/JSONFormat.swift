import FoundationEssentials
import Tandem

/// Keys are never renamed.
extension TransactionWriter {
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

    func json(_ change: Change) -> JSON {
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
