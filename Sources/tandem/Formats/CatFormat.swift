import Tandem

/// The changes only, without author and time.
struct CatFormat: EntryFormat {
    var style: Style

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        bytes.put(ChangeText(entry: entry, style: style).summary, "\n")
    }
}
