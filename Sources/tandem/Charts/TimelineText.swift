import Tandem

/// A timeline as text for a terminal, with a line of block characters for each lane.
struct TimelineText {
    let timeline: Timeline
    let timelineStyle: TimelineStyle
    var style = Style()

    /// The widths of the names before the columns and of the numbers after them.
    private static let (nameCells, numberCells) = (20, 10)
    private static let lanes = 10
    /// The width of a time below the columns, with a space after it.
    private static let tickCells = 14

    /// Returns the number of columns that fit into a terminal of this width.
    static func columns(_ width: Int) -> Int { max(10, width - nameCells - numberCells - 2) }

    /// Returns the lines: headings, all transactions, entities, authors, the axis, and durations.
    func lines(width: Int) -> [String] {
        let room = Self.columns(width)
        guard let columns = timeline.shown(atLeast: min(20, room)) else { return [] }
        let wide = max(1, room / columns.count)
        let head = [timelineStyle.title(timeline)] + timelineStyle.subtitles(timeline)
        let all = timeline.all(in: columns)
        let entities = section(
            "changes by entity", timeline.entities(Self.lanes, in: columns), wide)
        let authors = section(
            "transactions by author", timeline.authors(Self.lanes, in: columns), wide)
        let axis = axis(columns, wide)
        return head + ["", line("transactions", all, all.most, wide), ""] + entities + [""]
            + authors
            + axis + [""] + durations(width)
    }

    private func section(_ title: String, _ lanes: [Timeline.Lane], _ wide: Int) -> [String] {
        let most = lanes.map(\.most).max() ?? 0
        return [style.paint("\(title), at most \(Quantity.count(most)) per column", .name)]
            + lanes.map { line("  " + $0.name, $0, most, wide) }
    }

    private func line(_ name: String, _ lane: Timeline.Lane, _ most: Int, _ wide: Int) -> String {
        let bars = lane.counts.map { count in
            String(repeating: Bar.vertical(Double(count) / Double(max(1, most))), count: wide)
        }.joined()
        return name.cut(toCells: Self.nameCells - 1).left(inCells: Self.nameCells)
            + style.paint(bars, .touch)
            + Quantity.count(lane.total).right(inCells: Self.numberCells)
    }

    /// Returns a line with the times of ticks, and a line with their days; omits times that would
    /// overlap.
    private func axis(_ columns: ClosedRange<Int64>, _ wide: Int) -> [String] {
        let start = columns.lowerBound * timeline.grid.width
        let end = (columns.upperBound + 1) * timeline.grid.width
        let cells = columns.count * wide
        let ticks = TimeTicks(
            from: start, to: end - 1, most: max(1, cells / Self.tickCells),
            isUTC: timelineStyle.isUTC
        ).ticks
        var (times, days) = ("", "")
        for tick in ticks {
            let share = Double(tick.time - start) / Double(end - start)
            let at = Self.nameCells + Int(share * Double(cells))
            guard times.cells <= at else { continue }
            times = times.left(inCells: at) + "╵" + tick.label
            if let day = tick.day { days = days.left(inCells: at) + " " + day }
        }
        return [times, days].filter { !$0.isEmpty }
    }

    private func durations(_ width: Int) -> [String] {
        let save = timelineStyle.durations
        let marks = save.marks
        guard !marks.isEmpty else { return ["\(save.title): none"] }
        let text = marks.map { "\($0.label) \(SaveDurations.text($0))" }.joined(separator: ", ")
        return [style.paint(save.title, .name), "  \(text)", "  (\(save.note))"]
    }
}
