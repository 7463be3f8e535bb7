import Tandem

/// The format `export`: lines `KEY=value`, and an empty line after each transaction.
///
/// The key of a multi-line value is a line of its own, followed by the value's length in bytes (64
/// bits, little-endian) and the value. Each change is a line `change=` with a JSON object; all keys
/// are those of `-o json`.
struct ExportFormat: EntryFormat {
    /// The keys to print; nil for all.
    var fields: Set<String>?
    private var line = JSONFormat()

    init(fields: Set<String>?) { self.fields = fields }

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        let (transaction, principal) = (entry.transaction, entry.transaction.principal)
        put("position", "\(transaction.position)", &bytes)
        if let cursor = entry.cursor { put("cursor", cursor.description, &bytes) }
        put("time", JSON.number(Double(transaction.time) / 1_000_000), &bytes)
        put("author", principal.author, &bytes)
        put("context", principal.context, &bytes)
        put("uid", "\(principal.uid)", &bytes)
        put("gid", "\(principal.gid)", &bytes)
        put("pid", "\(principal.pid)", &bytes)
        put("unit", principal.unit, &bytes)
        if !transaction.saveID.isEmpty { put("saveId", entry.saveID, &bytes) }
        if let hash = entry.modelHash { put("model", hash, &bytes) }
        if fields?.contains("changes") ?? true {
            for change in transaction.changes {
                bytes.put("change=")
                line.write(change, entry, into: &bytes)
                bytes.put("\n")
            }
        }
        bytes.put("\n")
    }

    private func put(_ key: String, _ value: String, _ bytes: inout [UInt8]) {
        if let fields, !fields.contains(key) { return }
        guard value.utf8.contains(0x0a) else { return bytes.put(key, "=", value, "\n") }
        bytes.put(key, "\n")
        withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) {
            bytes.append(contentsOf: $0)
        }
        bytes.put(value, "\n")
    }
}
