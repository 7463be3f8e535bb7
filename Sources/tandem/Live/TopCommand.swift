import ArgumentParser
import Tandem
import TandemIO

/// `tandem top`: what the daemon is doing.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Shows clients, lags and rates of a running daemon.",
        discussion: """
            On a terminal it is drawn anew every --delay seconds until it is interrupted; elsewhere, or with -n, that many \
            times, once unless told otherwise. Rates are those of the time between two looks; percentiles are upper \
            bounds, a power of two wide. Clients that lag come first, then those that ask for most. Stalls are what kept \
            every save waiting longest since the start.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(name: .shortAndLong, help: ArgumentHelp("Between two looks.", valueName: "seconds"))
    var delay: Double = 1

    @Option(name: [.customShort("n"), .long], help: "How often; without end on a terminal.")
    var iterations: Int?

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    @Option(help: ArgumentHelp("Coloured?", valueName: "when"))
    var color: ColorChoice = .auto

    func validate() throws {
        guard delay >= 0.05, delay <= 86_400 else {
            throw ValidationError("--delay takes seconds from 0.05 on")
        }
        if let iterations, iterations < 1 { throw ValidationError("-n is at least 1") }
    }

    @MainActor func run() async throws {
        let container = global.container()
        let isTerminal =
            output != .json && ThisProcess.isTerminal(StandardStream.output.descriptor)
        let style = Style(isOn: color.isOn(StandardStream.output.descriptor))
        let clock = SystemClock()
        var left = iterations ?? (isTerminal ? Int.max : 1)
        var before = TopLook(try JSON(parsing: try container.status()), clock)
        if isTerminal { StandardStream.output.write("\u{1b}[2J") }
        while left > 0, !StandardStream.output.isClosed {
            try await Task.sleep(for: .milliseconds(Int(delay * 1_000)))
            let now = TopLook(try JSON(parsing: try container.status()), clock)
            let frame = TopFrame(before: before, now: now)
            if output == .json {
                printLine(frame.json.text)
            } else if isTerminal {
                draw(frame, style)
            } else {
                frame.lines(style: style, width: .max, height: .max).forEach {
                    // Coloured, its texts made printable.
                    StandardStream.output.write($0 + "\n")
                }
            }
            (before, left) = (now, left - 1)
        }
    }

    private func draw(_ frame: TopFrame, _ style: Style) {
        let size = ThisProcess.terminalSize(StandardStream.output.descriptor) ?? (80, 24)
        let lines = frame.lines(style: style, width: size.columns, height: size.rows - 1)
        let screen = lines.map { $0 + "\u{1b}[K\r\n" }.joined()
        StandardStream.output.write("\u{1b}[H" + screen + "\u{1b}[J")
    }
}
