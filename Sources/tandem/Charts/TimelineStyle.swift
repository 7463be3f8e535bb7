/// The style and additional content of a drawn timeline.
struct TimelineStyle {
    var isUTC = false
    /// The options that selected the transactions, as on the command line; empty if there were
    /// none.
    var selection = ""
    var durations: SaveDurations

    /// Returns the heading.
    func title(_ timeline: Timeline) -> String {
        let batches =
            timeline.batches > 0 ? " (\(Quantity.count(timeline.batches)) by batches)" : ""
        return "\(Quantity.count(timeline.transactions, "transaction"))\(batches), "
            + Quantity.count(timeline.changes, "change")
    }

    /// Returns the lines below the heading: the times, positions, column width and selection.
    func subtitles(_ timeline: Timeline) -> [String] {
        guard let span = timeline.span else { return [] }
        var clock = WallClock(isUTC: isUTC)
        let column = "each column is \(Quantity.duration(timeline.grid.width))"
        let zone = isUTC ? " UTC" : ""
        let first = "\(span.times(&clock))\(zone), \(span.positions), \(column)"
        return [first] + (selection.isEmpty ? [] : ["only \(selection.printable)"])
    }
}
