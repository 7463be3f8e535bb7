import Tandem

/// The key of an object's display name: the object, and the position of a transaction.
struct ObjectName: Hashable {
    var object: ObjectReference
    var position: UInt64
}

/// The changes of a transaction as text.
struct ChangeText {
    let entry: LogEntry
    var style = Style()

    /// The maximum number of a change's links on one line.
    private static let linksShown = 8

    /// The first four changes on one line, and the number of omitted changes.
    var summary: String {
        if let hash = entry.modelHash { return summary(ofModel: hash) }
        let changes = entry.transaction.changes
        guard !changes.isEmpty else { return "no changes" }
        let shown = changes.prefix(4).map { line($0, cutting: true) }
        let rest = changes.count - shown.count
        return (shown + (rest > 0 ? ["and \(Quantity.count(rest)) more"] : []))
            .joined(separator: "; ")
    }

    private func summary(ofModel hash: String) -> String {
        let install = "install model \(hash.isEmpty ? "?" : hash)"
        let differences = entry.differences
        if differences.isEmpty { return install }
        let rest = differences.count - 4
        let shown =
            differences.prefix(4).map(\.description.printable)
            + (rest > 0 ? ["and \(rest) more"] : [])
        return install + ": " + shown.joined(separator: "; ")
    }

    /// All text that `log -g` searches: author, context, unit, and every change with complete
    /// values.
    var everything: String {
        let principal = entry.transaction.principal
        let who = [principal.author, principal.context, principal.unit]
        if entry.modelHash != nil { return (who + [summary]).joined(separator: "\n") }
        let changes = entry.transaction.changes.map { change in
            ([line(change, cutting: false)] + values(of: change)).joined(separator: " ")
        }
        return (who + changes).joined(separator: "\n")
    }

    private func line(_ change: Change, cutting: Bool) -> String {
        let head = "\(change.kind) \(entry.id(change.object))"
        let painted = style.paint(head, Style.Role(change.kind))
        if change.kind == .delete || change.kind == .insert { return painted }
        return painted + " " + difference(change, cutting)
    }

    private func difference(_ change: Change, _ isCut: Bool) -> String {
        guard let model = entry.model, let entity = entry.entity(of: change) else { return "" }
        let text = { (value: PropertyValue) in
            isCut ? ValueText.short(value, model) : ValueText.json(value, model).plain
        }
        let values = change.before.map { item in
            let after = change.row?.uncheckedValue(item.slot, in: entity) ?? .null
            return "\(entity.properties[item.slot].name) \(text(item.value))→\(text(after))"
        }
        let all = ShownLink.all(of: change)
        let links = (isCut ? all.prefix(Self.linksShown) : all[...]).map { link in
            "\(entity.properties[link.slot].name)\(link.sign.rawValue)"
                + model.id(of: link.target).description
        }
        let rest = all.count - links.count
        let more = rest > 0 ? ["and \(Quantity.count(rest, "link")) more"] : []
        return (values + links + more).joined(separator: " ").printable
    }

    /// Returns the values of an inserted or deleted object.
    private func values(of change: Change) -> [String] {
        guard let model = entry.model, let entity = entry.entity(of: change),
            let row = change.kind == .insert ? change.row : change.deleted
        else { return [] }
        return entity.properties.filter { !$0.isToMany }.compactMap { property in
            let value = row.uncheckedValue(property.slot, in: entity)
            return value.isNull
                ? nil : "\(property.name) \(ValueText.json(value, model).plain)"
        }
    }
}

extension Style.Role {
    /// Returns the colour of a kind of change.
    init(_ kind: Change.Kind) {
        self =
            switch kind {
            case .insert: .insert
            case .update: .update
            case .delete: .delete
            case .touch: .touch
            }
    }
}
