import Tandem

/// JSON objects spread over several lines, for human readers.
struct JSONPrettyFormat: EntryFormat {
    var line: JSONFormat

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        var text: [UInt8] = []
        line.append(entry, to: &text)
        // Never fails: the line was written by ``JSONFormat``.
        guard let json = try? JSON(parsing: String(decoding: text, as: UTF8.self)) else { return }
        Self.write(json, indent: 0, into: &bytes)
        bytes.put("\n")
    }

    /// Appends a value, with one line for each element of an array or object.
    static func write(_ json: JSON, indent: Int, into bytes: inout [UInt8]) {
        switch json {
        case .array(let elements) where !elements.isEmpty:
            let items = elements.map { ("", $0) }
            write(items, "[", "]", indent, into: &bytes)
        case .object(let members) where !members.isEmpty:
            let items = members.sorted { $0.key < $1.key }
                .map { (JSON.string($0.key).text + ": ", $0.value) }
            write(items, "{", "}", indent, into: &bytes)
        default: json.write(into: &bytes)
        }
    }

    private static func write(
        _ items: [(key: String, value: JSON)], _ open: String, _ close: String, _ indent: Int,
        into bytes: inout [UInt8]
    ) {
        bytes.put(open, "\n")
        for (index, item) in items.enumerated() {
            bytes.put(String(repeating: " ", count: indent + 4), item.key)
            write(item.value, indent: indent + 4, into: &bytes)
            bytes.put(index + 1 < items.count ? ",\n" : "\n")
        }
        bytes.put(String(repeating: " ", count: indent), close)
    }
}
