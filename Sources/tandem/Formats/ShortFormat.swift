import Tandem

/// One line, as journalctl's: time, position, author with process, what changed.
struct ShortFormat: EntryFormat {
    var style: Style
    var clock: WallClock
    /// With the year and what the zone is ahead of UTC.
    var isISO = false
    /// The columns of a terminal that a line has to fit; nil for whole lines.
    var width: Int?

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        let transaction = entry.transaction
        let principal = transaction.principal
        let time = isISO ? clock.iso(transaction.time) : clock.short(transaction.time)
        let author = principal.author.isEmpty ? "-" : principal.author
        let summary = ChangeText(entry: entry, style: style).summary
        let line =
            style.paint("\(time) \(transaction.position)", .place) + " "
            + style.paint(author, .name) + "[\(principal.pid)]: " + summary
        bytes.put(width.map(line.cutPainted) ?? line, "\n")
    }
}
