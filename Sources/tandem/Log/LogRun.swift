import Tandem
import TandemIO

/// One run of `tandem log`.
final class LogRun {
    let options: LogCommand
    let output: LineOutput
    let style: Style
    let source: any LogSource
    let filter: LogFilter
    private let cursors: CursorKeeper
    private var format: any EntryFormat
    /// The number of printed or counted transactions.
    var shown = 0
    /// The position up to which the range was printed; nil if the range was read to its end.
    private var stop: UInt64?

    init(_ options: LogCommand, _ output: LineOutput, _ style: Style) throws {
        self.options = options
        self.output = output
        self.style = style
        cursors = try CursorKeeper(
            file: options.range.cursorFile, isShown: options.follow && options.showCursor)
        // A pager is already running and handles signals itself.
        if cursors.isWanted, !output.hasPager { try cursors.watchSignals() }
        source = options.source()
        var filter = try options.wanted.filter(options.range, isUTC: options.printing.utc)
        if filter.usesNames { filter.names = TransactionNames(newest: try source.newestModel()) }
        self.filter = filter
        var logStyle = LogStyle(
            style: style, isUTC: options.printing.utc, fields: try options.shownFields())
        if options.wanted.isShow { logStyle.nameOf = ObjectNames(source).name }
        // Lines are cut only on a terminal: a pager scrolls sideways, and files need whole lines.
        if !options.printing.full, !output.hasPager { logStyle.width = output.terminalWidth }
        format = options.output.writer(logStyle)
    }

    func run() throws {
        if options.wanted.isShow { return try showOne() }
        if let field = options.field { return try listValues(of: field) }
        if let statistic = options.chart.statistic?.statistic { return try count(by: statistic) }
        if let plot = options.chart.plot { return try self.plot(plot) }
        let range = try LogRange(options.range, source, filter)
        output.write { format.begin(into: &$0) }
        let limit = limit(range)
        guard options.follow else {
            try read(range, limit)
            return try conclude(range)
        }
        // Without a limit, the follower reads the whole range, because it survives a restart of the
        // daemon.
        if limit != nil { try read(range, limit) }
        let start = limit == nil ? range.floor : max(range.top, range.floor)
        try LogFollower(source, filter, output, quiet: options.quiet).follow(
            after: start, isJSON: options.output.isJSON, show, keepCursor)
    }

    /// Reports the cursor, an empty result, and any damage found.
    func conclude(_ range: LogRange) throws {
        printNoEntries()
        try printCursor(range)
        try source.throwIfDamaged()
    }

    /// Returns the maximum number of transactions to print, or nil for all.
    ///
    /// With --follow, a cursor overrides -n. Without -n, a follower prints everything after a given
    /// start, or the last 10 transactions if no start is given.
    private func limit(_ range: LogRange) -> Int? {
        if options.follow, range.startsAtCursor { return nil }
        if let lines = options.lines { return lines.limit }
        if options.follow { return range.hasStart ? nil : LineCount.defaultCount }
        return options.pagerEnd && !range.startsAtCursor ? 1_000 : nil
    }

    private func read(_ range: LogRange, _ limit: Int?) throws {
        let reader = LogReader(source: source, filter: filter)
        let (floor, top) = (range.floor, range.top)
        switch (limit, options.reverse) {
        case (let limit?, true):
            // A later run still has to print the transactions between the cursor and the oldest
            // printed one.
            if range.startsAtCursor { stop = floor }
            guard limit > 0 else { return }
            try reader.backwards(after: floor, through: top) { entry, _ in
                try self.show(entry) && self.shown < limit
            }
        case (nil, true):
            try reader.backwards(after: floor, through: top) { entry, _ in try self.show(entry) }
        case (let limit?, false) where range.startsAtCursor:
            try readFirst(limit, range, reader)
        case (let limit?, false):
            try reader.last(limit, after: floor, through: top, show)
        case (nil, false): try reader.forwards(after: floor, through: top, show)
        }
    }

    /// Prints the first transactions of a range.
    private func readFirst(_ limit: Int, _ range: LogRange, _ reader: LogReader) throws {
        stop = limit > 0 ? nil : range.floor
        guard limit > 0 else { return }
        try reader.forwards(after: range.floor, through: range.top) { entry in
            guard try self.show(entry) else { return false }
            guard self.shown == limit else { return true }
            self.stop = entry.transaction.position
            return false
        }
    }

    /// Prints a transaction; returns false if the output no longer has a reader.
    private func show(_ entry: LogEntry) throws -> Bool {
        shown += 1
        guard cursors.isWanted, !options.reverse else {
            output.write { format.append(entry, to: &$0) }
            return !output.isClosed
        }
        let write = { [self] () -> String? in
            output.write { format.append(entry, to: &$0) }
            return flushedCursor(entry)
        }
        // Without --follow, the file is written at the end or by a signal, because a reader that
        // ends early, such as `head`, has not read everything that was written.
        try options.follow ? cursors.keep(write) : cursors.remember(write)
        return !output.isClosed
    }

    /// Returns the cursor of a transaction that was just written.
    ///
    /// Returns nil if some output is not flushed yet, or if the output has no reader.
    private func flushedCursor(_ entry: LogEntry) -> String? {
        guard !output.isPending else { return nil }
        output.checkReader()
        guard !output.isClosed else { return nil }
        return entry.cursor?.description ?? "\(entry.transaction.position)"
    }

    /// Runs `log show P`.
    private func showOne() throws {
        let text = options.wanted.matches[1]
        guard let number = UInt64(text) ?? Position(text)?.number, number > 0 else {
            throw CommandFailure.notAPosition(text)
        }
        var asked = options.range
        (asked.cursor, asked.to) = (text, number)
        let range = try LogRange(asked, source, filter)
        // The default format of `log show` is verbose, with the names of objects.
        if options.printing.chosenFormat == nil {
            var logStyle = LogStyle(isUTC: options.printing.utc)
            logStyle.style = Style(
                isOn: options.printing.color.isOn(StandardStream.output.descriptor))
            logStyle.nameOf = ObjectNames(source).name
            format = VerboseFormat(logStyle)
        }
        output.write { format.begin(into: &$0) }
        try LogReader(source: source, filter: filter).forwards(
            after: number - 1, through: range.top, show)
        guard shown > 0 else {
            try CommandFailure.checkReached(number, range.top)
            throw CommandFailure(
                "transaction \(number) does not match the options, or cannot be read")
        }
        try source.throwIfDamaged()
    }

    /// Runs `log -F FIELD`, which prints all values of a field.
    private func listValues(of name: String) throws {
        guard let field = MatchField(rawValue: name) else {
            throw CommandFailure(
                "`\(name)` is not a field; the fields are "
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
        try source.throwIfDamaged()
    }

    // MARK: Remarks

    /// Prints and records the cursor of the last transaction that was read, whether or not it
    /// matched the filter.
    private func printCursor(_ range: LogRange) throws {
        let end = try stop ?? max(self.end(of: range), range.floor)
        let cursor = source.cursor(end)?.description ?? "\(end)"
        if options.showCursor { output.line("-- cursor: \(cursor)") }
        try keepCursor(cursor)
    }

    /// Records a cursor after all output up to it was flushed.
    ///
    /// If the output no longer has a reader, the file keeps its old cursor, because it is unknown
    /// how much was read.
    private func keepCursor(_ cursor: String) throws {
        guard cursors.isWanted else { return }
        try cursors.keep {
            output.flush()
            output.checkReader()
            return output.isClosed ? nil : cursor
        }
    }

    /// Returns the last position of a range, without the slack after the time of `--until`.
    ///
    /// A later run prints the transactions in the slack.
    private func end(of range: LogRange) throws -> UInt64 {
        guard let until = filter.until, range.floor < range.top else { return range.top }
        return try LogReader.position(
            of: until, in: source, after: range.floor, through: range.top) - 1
    }

    /// Prints `-- No entries --` if nothing was found, as journalctl does.
    ///
    /// The line is omitted in formats for programs.
    private func printNoEntries() {
        guard shown == 0, !options.quiet, options.output.isText else { return }
        output.line("-- No entries --")
    }
}
