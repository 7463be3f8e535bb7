/// What stands around a timeline: headings, and how long saves took.
struct TimelineLook {
    var isUTC = false
    /// What the options let through, as they were written; empty for everything.
    var selection = ""
    var durations: SaveDurations

    /// The heading.
    func title(_ timeline: Timeline) -> String {
        let batches =
            timeline.batches > 0 ? " (\(Quantity.count(timeline.batches)) of batches)" : ""
        return "\(Quantity.count(timeline.transactions, "transaction"))\(batches), "
            + Quantity.count(timeline.changes, "change")
    }

    /// What stands below the heading: from when to when, and which.
    func subtitles(_ timeline: Timeline) -> [String] {
        guard let span = timeline.span else { return [] }
        var clock = WallClock(isUTC: isUTC)
        let column = "a column is \(Quantity.duration(timeline.grid.width))"
        let zone = isUTC ? " UTC" : ""
        let first = "\(span.times(&clock))\(zone), \(span.positions), \(column)"
        return [first] + (selection.isEmpty ? [] : ["only \(selection.printable)"])
    }
}
