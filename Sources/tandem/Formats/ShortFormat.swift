import Tandem

extension TransactionWriter {
    /// One line, as journalctl's: time, position, author with process, what changed.
    var short: String {
        let principal = transaction.principal
        let author = principal.author.isEmpty ? "-" : principal.author
        return "\(time) \(transaction.position) \(author)[\(principal.pid)]: \(summary)"
    }

    var summary: String {
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
}
