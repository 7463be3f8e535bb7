import Tandem

/// One line per transaction, as in journalctl: time, position, author with process id, changes.
struct ShortFormat: EntryFormat {
    var style: Style
    var clock: WallClock
    /// Whether the time includes the year and the offset from UTC.
    var isISO = false
    /// The width of the terminal to which lines are cut; nil for whole lines.
    var width: Int?

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        let transaction = entry.transaction
        let principal = transaction.principal
        let time = isISO ? clock.iso(transaction.time) : clock.short(transaction.time)
        let author = principal.author.isEmpty ? "-" : principal.author
        let summary = ChangeText(entry: entry, style: style).summary
        let line =
            style.paint("\(time) \(transaction.position)", .position) + " "
            + style.paint(author, .name) + "[\(principal.pid)]: " + summary
        bytes.put(width.map(line.cutPainted) ?? line, "\n")
    }
}
