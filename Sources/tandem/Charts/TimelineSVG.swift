import Tandem

/// A timeline as an SVG image without scripts or external content.
///
/// Colours follow the viewer's preference for light or dark. The font is monospaced, and names are
/// cut to the available width, so that nothing overlaps.
struct TimelineSVG {
    let timeline: Timeline
    let timelineStyle: TimelineStyle
    private var writer = SVGWriter()
    /// The vertical coordinate reached so far.
    private var y = 0.0

    /// The maximum number of columns that fit in the image.
    static let columns = 240
    private static let fewestColumns = 24
    private static let lanes = 10
    private static let width = 960.0
    private static let margin = 24.0
    /// The horizontal coordinates at which columns begin and end.
    private static let (left, right) = (190.0, 870.0)
    private static let laneHeight = 26.0
    private static let nameCells = 21
    private static let subtitleCells = 120

    init(_ timeline: Timeline, _ timelineStyle: TimelineStyle) {
        (self.timeline, self.timelineStyle) = (timeline, timelineStyle)
    }

    /// Returns the source of the image; it has no panels if there are no transactions.
    static func text(_ timeline: Timeline, _ timelineStyle: TimelineStyle) -> String {
        var drawing = TimelineSVG(timeline, timelineStyle)
        drawing.draw()
        let height = SVGWriter.number(drawing.y)
        var whole = SVGWriter()
        whole.begin(
            "svg",
            [
                "xmlns": "http://www.w3.org/2000/svg", "viewBox": "0 0 960 \(height)",
                "width": "960", "height": "\(height)", "role": "img",
            ])
        whole.element("title", [:], timelineStyle.title(timeline))
        whole.element("desc", [:], timelineStyle.subtitles(timeline).joined(separator: "; "))
        whole.style(Self.style)
        whole.element("rect", ["class": "ground", "width": "100%", "height": "100%"])
        return whole.text + drawing.writer.text + "</svg>\n"
    }

    private mutating func draw() {
        y = Self.margin + 14
        label(Self.margin, timelineStyle.title(timeline), "title")
        for line in timelineStyle.subtitles(timeline) {
            y += 20
            label(Self.margin, line.cut(toCells: Self.subtitleCells), "quiet")
        }
        if let columns = timeline.shown(atLeast: Self.fewestColumns) { drawPanels(columns) }
        drawDurations()
        y += Self.margin
    }

    // MARK: Lanes over time

    private mutating func drawPanels(_ columns: ClosedRange<Int64>) {
        let ticks = ticks(columns)
        let all = timeline.all(in: columns)
        heading("Transactions", all.most)
        panel(height: 72, ticks)
        bars(all, most: all.most, height: 72, "all")
        total(all, at: y - 4)
        for (title, lanes, kind) in [
            ("Changes by entity", timeline.entities(Self.lanes, in: columns), "entity"),
            ("Transactions by author", timeline.authors(Self.lanes, in: columns), "author"),
        ] {
            let most = lanes.map(\.most).max() ?? 0
            heading(title, most)
            for lane in lanes {
                panel(height: Self.laneHeight, ticks)
                bars(lane, most: most, height: Self.laneHeight - 4, kind)
                label(at: y - 6, Self.margin, lane.name.cut(toCells: Self.nameCells), "name")
                total(lane, at: y - 6)
            }
        }
        axis(ticks)
    }

    private typealias Tick = (x: Double, tick: TimeTicks.Tick)

    private func ticks(_ columns: ClosedRange<Int64>) -> [Tick] {
        let width = timeline.grid.width
        let (start, end) = (columns.lowerBound * width, (columns.upperBound + 1) * width)
        return TimeTicks(from: start, to: end, most: 7, isUTC: timelineStyle.isUTC).ticks.map {
            tick in
            let share = Double(tick.time - start) / Double(end - start)
            return (Self.left + share * (Self.right - Self.left), tick)
        }
    }

    private mutating func heading(_ title: String, _ most: Int) {
        y += 34
        label(Self.margin, title, "heading")
        label(
            Self.right,
            "full height: \(Quantity.count(most)) in \(Quantity.duration(timeline.grid.width))",
            "quiet end")
        y += 6
    }

    /// Draws the grid of a lane, and moves `y` to the lane's lower edge.
    private mutating func panel(height: Double, _ ticks: [Tick]) {
        var lines = ""
        for tick in ticks { lines += "M\(Self.point(tick.x, y))v\(SVGWriter.number(height))" }
        if !lines.isEmpty { writer.element("path", ["class": "grid", "d": "\(lines)"]) }
        y += height
        writer.element(
            "path",
            ["class": "grid", "d": "M\(Self.point(Self.left, y))H\(SVGWriter.number(Self.right))"])
    }

    /// Draws the columns of a lane upwards from `y`.
    private mutating func bars(
        _ lane: Timeline.Lane, most: Int, height: Double, _ kind: String
    ) {
        guard most > 0 else { return }
        let step = (Self.right - Self.left) / Double(lane.counts.count)
        let width = max(1, step * 0.85)
        var path = ""
        for (index, count) in lane.counts.enumerated() where count > 0 {
            let tall = max(1.5, Double(count) / Double(most) * height)
            path += "M\(Self.point(Self.left + Double(index) * step, y))"
            path += "v\(SVGWriter.number(-tall))h\(SVGWriter.number(width))"
            path += "v\(SVGWriter.number(tall))z"
        }
        writer.begin("path", ["class": "\(kind)", "d": "\(path)"])
        writer.element("title", [:], "\(lane.name): \(Quantity.count(lane.total))")
        writer.end()
    }

    private mutating func total(_ lane: Timeline.Lane, at y: Double) {
        label(at: y, Self.right + 10, Quantity.count(lane.total), "number")
    }

    private mutating func axis(_ ticks: [Tick]) {
        for (x, tick) in ticks {
            label(at: y + 16, x, tick.label, "quiet middle")
            if let day = tick.day { label(at: y + 31, x, day, "quiet middle") }
        }
        y += 36
    }

    // MARK: Durations

    /// Draws the percentiles of the durations on a logarithmic scale.
    private mutating func drawDurations() {
        let save = timelineStyle.durations
        y += 34
        label(Self.margin, save.title, "heading")
        let marks = save.marks
        guard let longest = marks.map(\.microseconds).max() else {
            y += 20
            return label(Self.margin, "none", "quiet")
        }
        y += 18
        label(Self.margin, save.note, "quiet")
        y += 10
        let scale = DurationScale(longest: longest, from: Self.left, to: Self.right - 90)
        let height = Self.laneHeight * Double(marks.count)
        for tick in scale.ticks {
            writer.element(
                "path",
                [
                    "class": "grid",
                    "d": "M\(Self.point(tick.x, y))v\(SVGWriter.number(height))",
                ])
        }
        for mark in marks {
            y += Self.laneHeight
            let end = scale.x(mark.microseconds)
            writer.element(
                "rect",
                [
                    "class": "save", "x": .number(Self.left), "y": .number(y - 19),
                    "width": .number(max(1.5, end - Self.left)), "height": 12,
                ])
            label(at: y - 8, Self.margin, mark.label, "name")
            label(at: y - 8, end + 8, SaveDurations.text(mark), "number")
        }
        for tick in scale.ticks { label(at: y + 16, tick.x, tick.label, "quiet middle") }
        y += 20
    }

    // MARK: Pieces

    private mutating func label(_ x: Double, _ text: String, _ kind: String) {
        label(at: y, x, text, kind)
    }

    private mutating func label(at y: Double, _ x: Double, _ text: String, _ kind: String) {
        writer.element(
            "text", ["class": .text(kind), "x": .number(x), "y": .number(y)], text)
    }

    private static func point(_ x: Double, _ y: Double) -> String {
        "\(SVGWriter.number(x)) \(SVGWriter.number(y))"
    }

    private static let style = """
        .ground{fill:#ffffff}
        text{font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1f2328}
        .title{font-size:17px;font-weight:bold}
        .heading{font-size:13px;font-weight:bold}
        .quiet{fill:#59636e;font-size:11px}
        .end{text-anchor:end}
        .middle{text-anchor:middle}
        .grid{stroke:#d8dee4;fill:none}
        .all{fill:#6e7781}
        .entity{fill:#0969da}
        .author{fill:#1a7f37}
        .save{fill:#bc4c00}
        @media (prefers-color-scheme:dark){
        .ground{fill:#0d1117}
        text{fill:#e6edf3}
        .quiet{fill:#9198a1}
        .grid{stroke:#30363d}
        .all{fill:#9198a1}
        .entity{fill:#58a6ff}
        .author{fill:#3fb950}
        .save{fill:#f0883e}
        }
        """
}
