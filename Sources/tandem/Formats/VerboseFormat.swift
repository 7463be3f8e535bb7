import Tandem

/// For each transaction, a heading with time and position, the author and process, and the
/// difference.
struct VerboseFormat: EntryFormat {
    private let logStyle: LogStyle
    private var clock: WallClock

    init(_ logStyle: LogStyle) {
        self.logStyle = logStyle
        clock = WallClock(isUTC: logStyle.isUTC)
    }

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        let transaction = entry.transaction
        let place = entry.cursor?.description ?? String(transaction.position)
        bytes.put(
            logStyle.style.paint("\(clock.whole(transaction.time))  \(place)", .position), "\n")
        let facts = facts(entry).filter { logStyle.fields?.contains($0.key) ?? true }
        if !facts.isEmpty {
            let words = facts.map { "\($0.key)=\($0.value)" }
            bytes.put("    ", words.joined(separator: " ").printable, "\n")
        }
        guard logStyle.fields.map({ $0.contains("changes") || $0.contains("model") }) ?? true else {
            return
        }
        for line in DifferenceText(entry: entry, logStyle: logStyle).lines {
            bytes.put("    ", line, "\n")
        }
    }

    private func facts(_ entry: LogEntry) -> [(key: String, value: String)] {
        let principal = entry.transaction.principal
        var facts = [
            ("author", principal.author), ("context", principal.context),
            ("uid", "\(principal.uid)"), ("gid", "\(principal.gid)"), ("pid", "\(principal.pid)"),
            ("unit", principal.unit),
        ]
        if !entry.transaction.saveID.isEmpty { facts.append(("saveId", entry.saveID)) }
        return facts
    }
}
