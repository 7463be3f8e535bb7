import Tandem

/// The net change to an object by several transactions.
///
/// Names are the current ones, so that changes under different models can be combined.
struct NetObjectChange {
    var id: String
    private(set) var isNew = false
    private(set) var isDeleted = false
    private(set) var before: [String: String] = [:]
    private(set) var after: [String: String] = [:]
    /// Members that were added, removed or moved, by relationship.
    private(set) var links: [String: [String: NetLinkChange]] = [:]

    init(_ id: String) { self.id = id }

    /// Whether there is no net change: the object was inserted and deleted, or has its old values
    /// and links.
    var isEmpty: Bool {
        if isNew { return isDeleted }
        return !isDeleted && before.allSatisfy { after[$0.key] == $0.value }
            && links.values.allSatisfy(\.isEmpty)
    }

    /// The kind of the net change.
    var kind: Change.Kind {
        isNew ? .insert : isDeleted ? .delete : before.isEmpty ? .touch : .update
    }

    /// The properties whose values differ, each with both values.
    var values: [(property: String, before: String?, after: String?)] {
        Set(before.keys).union(after.keys).sorted().compactMap { name in
            let pair = (isNew ? nil : before[name], isDeleted ? nil : after[name])
            return pair.0 == pair.1 ? nil : (name, pair.0, pair.1)
        }
    }

    /// Adds a later change.
    mutating func add(
        _ change: Change, _ entity: CompiledEntity, _ model: CompiledModel, _ names: CurrentNames
    ) {
        let text = { (value: PropertyValue) in names.json(value, model).text }
        let properties = names.properties(of: entity, model)
        switch change.kind {
        case .insert:
            isNew = true
            all(change.row, entity, properties) { after[$0] = text($1) }
        case .delete:
            isDeleted = true
            all(change.deleted, entity, properties) { name, value in
                if before[name] == nil { before[name] = text(value) }
            }
        case .update:
            for item in change.before {
                let name = properties[item.slot]
                if before[name] == nil, !isNew { before[name] = text(item.value) }
                after[name] = text(change.row?.uncheckedValue(item.slot, in: entity) ?? .null)
            }
        case .touch: break
        }
        for link in change.links {
            add(link, properties[link.slot], names.id(link.target, model).description)
        }
    }

    private mutating func add(_ link: LinkChange, _ name: String, _ target: String) {
        var net = links[name]?[target] ?? NetLinkChange(before: link.isAdded ? nil : link)
        net.after = link.isAdded ? link : nil
        links[name, default: [:]][target] = net.sign == nil ? nil : net
    }

    private func all(
        _ row: Row?, _ entity: CompiledEntity, _ names: [String],
        _ body: (String, PropertyValue) -> Void
    ) {
        guard let row else { return }
        for property in entity.properties where !property.isToMany {
            let value = row.uncheckedValue(property.slot, in: entity)
            if !value.isNull { body(names[property.slot], value) }
        }
    }

    /// The JSON object for `-o json`.
    var json: JSON {
        var (old, new): ([String: JSON], [String: JSON]) = ([:], [:])
        for item in self.values {
            old[item.property] = item.before.flatMap { try? JSON(parsing: $0) }
            new[item.property] = item.after.flatMap { try? JSON(parsing: $0) }
        }
        let relations = links.sorted { $0.key < $1.key }.map { name, members -> JSON in
            func list(_ sign: ShownLink.Sign) -> [JSON] {
                members.filter { $0.value.sign == sign }.keys.sorted().map { .string($0) }
            }
            var json: [String: JSON] = [
                "property": .string(name), "added": .array(list(.added)),
                "removed": .array(list(.removed)),
            ]
            if members.contains(where: { $0.value.isOrdered }) {
                json["moved"] = .array(list(.moved))
            }
            return .object(json)
        }
        return .object([
            "object": .string(id), "type": .string(kind.word), "before": .object(old),
            "after": .object(new), "links": .array(relations),
        ])
    }

    /// Returns a heading, and a line for each property.
    func lines(_ style: Style) -> [String] {
        let details =
            values.map { item in
                (item.property, "\(item.before ?? "") → \(item.after ?? "")".trimmed)
            }
            + links.sorted { $0.key < $1.key }.flatMap { name, members in
                members.sorted { $0.key < $1.key }.map {
                    (name, "\($1.sign?.rawValue ?? "") \($0)")
                }
            }
        let width = details.map(\.0.count).max() ?? 0
        return [style.paint("\(kind.word) \(id)", Style.Role(kind))]
            + details.map { name, text in
                let start = text.hasPrefix(" ") ? String(text.dropFirst()) : text
                return "    \(name.padded(to: width + 1))\(start)".printable
            }
    }
}

/// A member of a to-many relationship before and after several transactions.
struct NetLinkChange {
    var before: LinkChange?
    var after: LinkChange?

    /// Whether the member has a rank.
    var isOrdered: Bool { before?.rank != nil || after?.rank != nil }

    /// The net change of the member; nil if there is none.
    var sign: ShownLink.Sign? {
        guard let before else { return after == nil ? nil : .added }
        guard let after else { return .removed }
        return before.rank == after.rank ? nil : .moved
    }
}
