import TandemIO

/// A progress bar on standard error.
///
/// The bar is shown only on a terminal, and only for operations longer than a second.
///
///     let progress = ProgressBar("backup")
///     defer { progress.end() }
///     while … { progress.update(done, of: total) }
final class ProgressBar {
    /// The delay before the bar is shown, in nanoseconds; a tenth of it is the shortest time
    /// between two redraws.
    private static let delay: UInt64 = 1_000_000_000
    /// The label with escaped control characters, because it may contain a file's name.
    let label: String
    private let isShown: Bool
    private let clock = SystemClock()
    private let start: UInt64
    private var last: UInt64 = 0

    /// Creates a bar with a label before it.
    init(_ label: String) {
        self.label = label.printable
        isShown = ThisProcess.isTerminal(StandardStream.error.descriptor)
        start = clock.monotonicNanoseconds
    }

    /// Shows the progress; a `total` of 0 means that the total is unknown.
    func update(_ done: UInt64, of total: UInt64) {
        show { Self.line(label, done, of: total, seconds: $0, width: $1) }
    }

    /// Shows only the elapsed time, for an operation of unknown length.
    func wait() {
        show { String("\(label): \(Self.time($0.rounded(.down))) so far".prefix(max(1, $1 - 1))) }
    }

    private func show(_ line: (_ seconds: Double, _ width: Int) -> String) {
        guard isShown else { return }
        let now = clock.monotonicNanoseconds
        guard now - start >= Self.delay, now - last >= Self.delay / 10 else { return }
        last = now
        let width = ThisProcess.terminalSize(StandardStream.error.descriptor)?.columns ?? 80
        StandardStream.error.write("\r\(line(Double(now - start) / 1e9, width))\u{1b}[K")
    }

    /// Removes the bar.
    func end() {
        if last > 0 { StandardStream.error.write("\r\u{1b}[K") }
        last = 0
    }

    /// Returns a line of at most `width` columns: the label, a bar, the percentage and the
    /// remaining time.
    static func line(
        _ label: String, _ done: UInt64, of total: UInt64, seconds: Double, width: Int
    ) -> String {
        guard total > 0 else { return String("\(label) \(done)".prefix(max(1, width - 1))) }
        let share = min(1, Double(done) / Double(total))
        let left = share > 0 ? ", \(time(seconds * (1 - share) / share)) left" : ""
        let end = " \(Int(share * 100)) %\(left)"
        let room = width - label.count - end.count - 4
        guard room >= 4 else { return String((label + end).prefix(max(1, width - 1))) }
        let filled = Int(share * Double(room))
        let bar =
            String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled)
        return "\(label) [\(bar)]\(end)"
    }

    private static func time(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 359_999).rounded(.up))
        if whole < 60 { return "\(whole) s" }
        return whole < 3_600
            ? "\(whole / 60) min \(whole % 60) s" : "\(whole / 3_600) h \(whole / 60 % 60) min"
    }
}
