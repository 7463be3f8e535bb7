import Tandem

/// CSV according to RFC 4180: a header, and a line for each property of each change.
///
/// An added link shows the member in `after`, a removed link in `before`, and a moved link in both.
struct CSVFormat: EntryFormat {
    /// The columns to print; nil for all.
    var fields: Set<String>?
    private var clock = WallClock(isUTC: true)

    init(fields: Set<String>?) { self.fields = fields }

    /// The names of all columns, in order.
    static let columns = [
        "position", "time", "author", "context", "uid", "gid", "pid", "unit", "type", "object",
        "property", "before", "after",
    ]

    func begin(into bytes: inout [UInt8]) { write(Self.columns, into: &bytes) }

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        let (transaction, principal) = (entry.transaction, entry.transaction.principal)
        let head = [
            "\(transaction.position)", clock.iso(transaction.time), principal.author,
            principal.context, "\(principal.uid)", "\(principal.gid)", "\(principal.pid)",
            principal.unit,
        ]
        if let hash = entry.modelHash {
            return write(head + ["model", hash, "", "", ""], into: &bytes)
        }
        for change in transaction.changes {
            let object = [change.kind.word, entry.id(change.object)]
            let details = details(change, entry)
            for detail in details.isEmpty ? [["", "", ""]] : details {
                write(head + object + detail, into: &bytes)
            }
        }
        // The transaction that ends a batch has no changes.
        if transaction.changes.isEmpty {
            write(head + ["", "", "", "", ""], into: &bytes)
        }
    }

    private func details(_ change: Change, _ entry: LogEntry) -> [[String]] {
        guard let model = entry.model, let entity = entry.entity(of: change) else { return [] }
        let text = { (value: PropertyValue?) -> String in
            value.map { $0.isNull ? "" : ValueText.json($0, model).plain } ?? ""
        }
        let before = Dictionary(
            change.before.map { ($0.slot, $0.value) }, uniquingKeysWith: { $1 })
        let values = entity.properties.filter { !$0.isToMany }.compactMap { property -> [String]? in
            let slot = property.slot
            if change.kind == .update, before[slot] == nil { return nil }
            let pair = [
                text(change.deleted?.uncheckedValue(slot, in: entity) ?? before[slot]),
                text(change.row?.uncheckedValue(slot, in: entity)),
            ]
            // CSV does not distinguish null from an empty string; the other formats do.
            if change.kind != .update, pair.allSatisfy(\.isEmpty) { return nil }
            return [property.name] + pair
        }
        let links = ShownLink.all(of: change).map { link in
            let member = model.id(of: link.target).description
            let name = entity.properties[link.slot].name
            // A moved member was in the list before and after.
            return [name, link.sign == .added ? "" : member, link.sign == .removed ? "" : member]
        }
        return values + links
    }

    private func write(_ cells: [String], into bytes: inout [UInt8]) {
        var isFirst = true
        for (column, cell) in zip(Self.columns, cells) where fields?.contains(column) ?? true {
            bytes.put(isFirst ? "" : ",", Self.quoted(cell))
            isFirst = false
        }
        bytes.put("\r\n")
    }

    /// Returns a cell, in quotes if necessary.
    static func quoted(_ cell: String) -> String {
        let needs = cell.utf8.contains { [0x0a, 0x0d, 0x22, 0x2c].contains($0) }
        guard needs else { return cell }
        // Compares bytes, because a quote and a combining mark after it are one `Character`.
        let doubled = cell.utf8.flatMap { $0 == 0x22 ? [0x22, 0x22] : [$0] }
        return "\"\(String(decoding: doubled, as: UTF8.self))\""
    }
}
