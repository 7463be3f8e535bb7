import Tandem

/// One line, as journalctl's: time, position, author with process, what changed.
struct ShortFormat: EntryFormat {
    var style: Style
    var clock: WallClock
    /// With the year and what the zone is ahead of UTC.
    var isISO = false

    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        let transaction = entry.transaction
        let principal = transaction.principal
        let time = isISO ? clock.iso(transaction.time) : clock.short(transaction.time)
        let author = principal.author.isEmpty ? "-" : principal.author.printable
        bytes.put(style.paint("\(time) \(transaction.position)", .place), " ")
        bytes.put(style.paint(author, .name), "[")
        bytes.put(number: principal.pid)
        bytes.put("]: ", ChangeText(entry: entry, style: style).summary, "\n")
    }
}
