import Tandem

/// A heading with time and position, the author and process, and the difference.
struct VerboseFormat: EntryFormat {
    private let look: LogLook
    private var clock: WallClock

    init(_ look: LogLook) {
        self.look = look
        clock = WallClock(isUTC: look.isUTC)
    }

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        let transaction = entry.transaction
        let place = entry.cursor?.description ?? String(transaction.position)
        bytes.put(look.style.paint("\(clock.whole(transaction.time))  \(place)", .place), "\n")
        let facts = facts(entry).filter { look.fields?.contains($0.key) ?? true }
        if !facts.isEmpty {
            let words = facts.map { "\($0.key)=\($0.value)" }
            bytes.put("    ", words.joined(separator: " ").printable, "\n")
        }
        guard look.fields.map({ $0.contains("changes") || $0.contains("model") }) ?? true else {
            return
        }
        for line in DifferenceText(entry: entry, look: look).lines {
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
