import Tandem

/// What changed, without who and when.
struct CatFormat: EntryFormat {
    var style: Style

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        bytes.put(ChangeText(entry: entry, style: style).summary, "\n")
    }
}
