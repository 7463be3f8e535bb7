import Tandem
import TandemIO

/// `log --stats` and `log --plot`: counts and charts of the selected transactions.
extension LogRun {
    /// Runs `log --stats`.
    func count(by statistic: Statistic) throws {
        let range = try LogRange(options.range, source, filter)
        var statistics = JournalStatistics(by: statistic)
        try each(range) { statistics.add($0) }
        if options.output.isJSON {
            output.write { bytes in
                let json = StatisticsJSON(statistics: statistics).json
                if options.output == .json {
                    bytes.put(json.text, "\n")
                } else {
                    JSONPrettyFormat.write(json, indent: 0, into: &bytes)
                    bytes.put("\n")
                }
            }
        } else {
            let table = StatisticsTable(
                statistics: statistics, width: Self.terminalWidth, style: style,
                clock: WallClock(isUTC: options.printing.utc))
            table.lines.forEach(output.styledLine)
        }
        try conclude(range)
    }

    /// Runs `log --plot`.
    func plot(_ target: PlotTarget) throws {
        let range = try LogRange(options.range, source, filter)
        let isFile = if case .file = target { true } else { false }
        var timeline = Timeline(
            columns: isFile ? TimelineSVG.columns : TimelineText.columns(Self.terminalWidth))
        try each(range) { timeline.add($0) }
        let timelineStyle = TimelineStyle(
            isUTC: options.printing.utc, selection: options.wanted.words,
            durations: durations(timeline))
        if case .file(let path) = target {
            try write(TimelineSVG.text(timeline, timelineStyle), path)
        } else {
            TimelineText(timeline: timeline, timelineStyle: timelineStyle, style: style)
                .lines(width: Self.terminalWidth).forEach(output.styledLine)
        }
        try conclude(range)
    }

    /// Returns the durations of the daemon's saves or, without a daemon, the times between
    /// transactions.
    private func durations(_ timeline: Timeline) -> SaveDurations {
        let status = try? (source as? DaemonSource)?.container.status()
        return status.flatMap { try? JSON(parsing: $0) }.flatMap { SaveDurations(status: $0) }
            ?? SaveDurations(between: timeline.gaps)
    }

    private func write(_ text: String, _ path: String) throws {
        do {
            try RealFileSystem().replace(path, with: Array(text.utf8))
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// Passes the selected transactions to `body`, oldest first; with -n, only the last ones.
    private func each(_ range: LogRange, _ body: (LogEntry) -> Void) throws {
        var reader = LogReader(source: source, filter: filter)
        let bar = ProgressBar("read the log")
        defer { bar.end() }
        reader.progress = { bar.update($0 - range.floor, of: range.top - range.floor) }
        let take = { (entry: LogEntry) in
            self.shown += 1
            body(entry)
            return true
        }
        guard let lines = options.lines?.limit else {
            return try reader.forwards(after: range.floor, through: range.top, take)
        }
        try reader.last(lines, after: range.floor, through: range.top, take)
    }

    /// The width of the terminal; 80 if there is none.
    private static var terminalWidth: Int {
        ThisProcess.terminalSize(StandardStream.output.descriptor)?.columns ?? 80
    }
}

extension LogMatchOptions {
    /// The options that select transactions, as on the command line.
    var words: String {
        let options: [(String, [String])] = [
            ("-E", entity), ("-O", object), ("-p", property), ("-t", author), ("-u", unit),
            ("-g", grep.map { [$0] } ?? []),
        ]
        return (options.flatMap { option in option.1.map { "\(option.0) \($0)" } } + matches)
            .joined(separator: " ")
    }
}
