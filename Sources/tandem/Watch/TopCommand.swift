import ArgumentParser
import Tandem
import TandemIO

/// `tandem top`: shows the current work of the daemon.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Show clients, lags and rates of a running daemon.",
        discussion: """
            On a terminal, the figures are redrawn every --delay seconds, indefinitely or -n times. Elsewhere, they are \
            printed -n times, once by default. Rates are measured between two samples of the daemon's status. \
            Percentiles are upper bounds of buckets that are a power of two wide. Lagging clients are listed first, \
            then those with the most requests. Stalls are periods in which all saves waited; the longest since the \
            start of the daemon are listed. If the daemon does not answer, the first line shows for how long.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The time between two samples.", valueName: "seconds"))
    var delay: Double = 1

    @Option(
        name: [.customShort("n"), .long],
        help: "The number of redraws; unlimited on a terminal, else 1.")
    var iterations: Int?

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    @Option(help: ArgumentHelp("Colours.", valueName: "when"))
    var color: ColorChoice = .auto

    func validate() throws {
        guard delay >= 0.05, delay <= 86_400 else {
            throw ValidationError("--delay must be at least 0.05 and at most 86400 seconds")
        }
        if let iterations, iterations < 1 { throw ValidationError("-n must be at least 1") }
    }

    @MainActor func run() async throws {
        let container = global.container()
        if output != .json, ThisProcess.isTerminal(StandardStream.output.descriptor) {
            try await draw(container)
        } else {
            try await print(container)
        }
    }

    private var pause: Duration { .milliseconds(Int(delay * 1_000)) }

    @MainActor private func print(_ container: PersistentContainer) async throws {
        let clock = SystemClock()
        var left = iterations ?? 1
        var before = StatusSample(try JSON(parsing: try await container.status()), clock)
        while left > 0, !StandardStream.output.isClosed {
            try await Task.sleep(for: pause)
            let now = StatusSample(try JSON(parsing: try await container.status()), clock)
            let frame = TopFrame(before: before, now: now)
            if output == .json {
                printLine(frame.json.text)
            } else {
                frame.lines(style: style, width: .max, height: .max).forEach {
                    // The line may contain colours; all other text is already escaped.
                    StandardStream.output.write($0 + "\n")
                }
            }
            (before, left) = (now, left - 1)
        }
    }

    private var style: Style { Style(isOn: color.isOn(StandardStream.output.descriptor)) }

    // MARK: Terminals

    /// Draws each new sample, and redraws if the terminal is resized or the daemon does not answer.
    @MainActor private func draw(_ container: PersistentContainer) async throws {
        let feed = try StatusFeed(container, pause: UInt64(delay * 1e9))
        let first = try feed.sample()
        var screen = TopScreen(frame: TopFrame(before: first, now: first), style: style)
        StandardStream.output.write("\u{1b}[2J")
        screen.draw(secondsWithoutAnswer: nil)
        var left = iterations ?? Int.max
        while left > 0, !StandardStream.output.isClosed {
            try await Task.sleep(for: min(pause, .milliseconds(100)))
            let now = try feed.sample()
            if now.time != screen.frame.now.time {
                screen.frame = TopFrame(before: screen.frame.now, now: now)
                left -= 1
            }
            screen.draw(secondsWithoutAnswer: secondsWithoutAnswer(since: now))
            StandardStream.output.checkReader()
        }
    }

    /// Returns the age of a sample in whole seconds if the next sample is overdue, otherwise nil.
    private func secondsWithoutAnswer(since sample: StatusSample) -> Int? {
        let age = Double(SystemClock().monotonicNanoseconds - sample.time) / 1e9
        return age >= delay + 2 ? Int(age) : nil
    }
}

/// Draws frames on a terminal; a frame is written only if its text differs from the last one.
struct TopScreen {
    var frame: TopFrame
    let style: Style
    private var written = ""

    init(frame: TopFrame, style: Style) {
        self.frame = frame
        self.style = style
    }

    /// Draws the frame at the terminal's size; `silence` is the number of seconds without an
    /// answer.
    mutating func draw(secondsWithoutAnswer silence: Int?) {
        let size = ThisProcess.terminalSize(StandardStream.output.descriptor) ?? (80, 24)
        let lines = frame.lines(
            style: style, width: size.columns, height: size.rows - 1, silence: silence)
        let screen = lines.map { PlainSymbols.shown($0) + "\u{1b}[K\r\n" }.joined()
        // After a change of width, the old frame may fill more lines, so the rest is cleared.
        let text = "\u{1b}[H" + screen + "\u{1b}[J"
        guard text != written else { return }
        written = text
        StandardStream.output.write(text)
    }
}
