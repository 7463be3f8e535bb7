import Tandem
import TandemIO

/// One call of `tandem log`.
final class LogRun {
    let options: LogCommand
    let output: LineOutput
    let style: Style
    let source: any LogSource
    let filter: LogFilter
    private var format: any EntryFormat
    /// How many transactions were printed or counted.
    var shown = 0

    init(_ options: LogCommand, _ output: LineOutput, _ style: Style) throws {
        self.options = options
        self.output = output
        self.style = style
        source = options.source()
        var filter = try options.wanted.filter(options.range, isUTC: options.utc)
        if filter.asksForNames { filter.names = NewestNames(newest: try source.newestModel()) }
        self.filter = filter
        var look = LogLook(style: style, isUTC: options.utc, fields: try options.shownFields())
        if options.wanted.isShow { look.nameOf = ObjectNames(source).name }
        // A pager goes sideways itself, and what is no terminal gets everything.
        if !options.full, !output.hasPager { look.width = output.terminalWidth }
        format = options.output.writer(look)
    }

    func run() throws {
        if options.wanted.isShow { return try showOne() }
        if let field = options.field { return try listValues(of: field) }
        if let statistic = options.picture.statistic?.statistic { return try count(by: statistic) }
        if let plot = options.picture.plot { return try self.plot(plot) }
        let range = try LogRange(options.range, source, filter)
        output.write { format.begin(into: &$0) }
        let reader = LogReader(source: source, filter: filter)
        try read(range, reader)
        if options.follow {
            return try LogFollower(source, filter, output, quiet: options.quiet).follow(
                after: max(range.top, range.floor), isJSON: options.output.isJSON, show)
        }
        try conclude(range)
    }

    /// What is said at the end.
    func conclude(_ range: LogRange) throws {
        try sayCursor(range)
        sayNothing()
        try source.conclude()
    }

    private func read(_ range: LogRange, _ reader: LogReader) throws {
        let (floor, top) = (range.floor, range.top)
        let limit =
            options.lines.map(\.limit)
            ?? (options.follow ? LineCount.usual : options.pagerEnd ? 1_000 : nil)
        switch (limit, options.reverse) {
        case (let limit?, true):
            guard limit > 0 else { return }
            try reader.backwards(after: floor, through: top) { entry, _ in
                self.show(entry) && self.shown < limit
            }
        case (nil, true):
            try reader.backwards(after: floor, through: top) { entry, _ in self.show(entry) }
        case (let limit?, false):
            try reader.last(limit, after: floor, through: top, show)
        case (nil, false): try reader.forwards(after: floor, through: top, show)
        }
    }

    /// Prints a transaction; false when nobody reads any more.
    private func show(_ entry: LogEntry) -> Bool {
        shown += 1
        output.write { format.append(entry, to: &$0) }
        return !output.isClosed
    }

    /// `log show P`.
    private func showOne() throws {
        let text = options.wanted.matches[1]
        guard let number = UInt64(text) ?? Position(text)?.number, number > 0 else {
            throw CommandFailure(
                "`\(text)` is no position; give NUMBER or NUMBER@EPOCH-LOG", code: 2)
        }
        var asked = options.range
        (asked.cursor, asked.to) = (text, number)
        let range = try LogRange(asked, source, filter)
        // A format that nobody chose is the readable difference.
        if options.chosenFormat == nil {
            var look = LogLook(isUTC: options.utc)
            look.style = Style(isOn: options.color.isOn(StandardStream.output.descriptor))
            look.nameOf = ObjectNames(source).name
            format = VerboseFormat(look)
        }
        output.write { format.begin(into: &$0) }
        try LogReader(source: source, filter: filter).forwards(
            after: number - 1, through: range.top, show)
        guard shown > 0 else {
            throw CommandFailure("there is no transaction \(number); the last is \(range.top)")
        }
        try source.conclude()
    }

    /// `-F FIELD`.
    private func listValues(of name: String) throws {
        guard let field = MatchField(rawValue: name) else {
            throw CommandFailure(
                "`\(name)` is no field; known are "
                    + MatchField.allCases.map(\.rawValue).joined(separator: ", "), code: 2)
        }
        let range = try LogRange(options.range, source, filter)
        var found: Set<String> = []
        try LogReader(source: source, filter: filter).forwards(
            after: range.floor, through: range.top
        ) { entry in
            found.formUnion(field.values(entry.transaction, entry.model))
            return true
        }
        found.sorted().forEach(output.line)
        try source.conclude()
    }

    // MARK: Remarks

    /// What was read up to: also what was looked at and not wanted, so that nobody looks at it again.
    private func sayCursor(_ range: LogRange) throws {
        let end = max(try self.end(of: range), range.floor)
        let cursor = source.cursor(end)?.description ?? "\(end)"
        if options.showCursor { output.line("-- cursor: \(cursor)") }
        guard let file = options.range.cursorFile else { return }
        do {
            try RealFileSystem().replace(file, with: Array((cursor + "\n").utf8))
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// What lies behind `--until` was looked at only as far as clocks may have been set back, and is for another time.
    private func end(of range: LogRange) throws -> UInt64 {
        guard let until = filter.until, range.floor < range.top else { return range.top }
        return try LogReader.position(
            of: until, in: source, after: range.floor, through: range.top) - 1
    }

    private func sayNothing() {
        guard shown == 0, !options.quiet,
            ThisProcess.isTerminal(StandardStream.error.descriptor)
        else { return }
        StandardStream.error.write("-- no entries --\n")
    }
}
