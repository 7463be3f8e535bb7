import TandemIO

/// How far something has come: on standard error, on a terminal only, and only for what takes longer than a second.
///
///     let progress = ProgressBar("backup")
///     defer { progress.end() }
///     while … { progress.update(done, of: total) }
final class ProgressBar {
    /// Nothing is shown before, and nothing more often than every tenth of it.
    private static let patience: UInt64 = 1_000_000_000
    /// Printable, as it may have the name of a file.
    let label: String
    private let isShown: Bool
    private let clock = SystemClock()
    private let start: UInt64
    private var last: UInt64 = 0

    /// A bar with a word before it.
    init(_ label: String) {
        self.label = label.printable
        isShown = ThisProcess.isTerminal(StandardStream.error.descriptor)
        start = clock.monotonicNanoseconds
    }

    /// Shows so much of a whole; the whole may be unknown: 0.
    func update(_ done: UInt64, of total: UInt64) {
        show { Self.line(label, done, of: total, seconds: $0, width: $1) }
    }

    /// Shows that nobody knows how far it is, only for how long it goes on.
    func wait() {
        show { String("\(label): \(Self.time($0.rounded(.down))) so far".prefix(max(1, $1 - 1))) }
    }

    private func show(_ line: (_ seconds: Double, _ width: Int) -> String) {
        guard isShown else { return }
        let now = clock.monotonicNanoseconds
        guard now - start >= Self.patience, now - last >= Self.patience / 10 else { return }
        last = now
        let width = ThisProcess.terminalSize(StandardStream.error.descriptor)?.columns ?? 80
        StandardStream.error.write("\r\(line(Double(now - start) / 1e9, width))\u{1b}[K")
    }

    /// Takes the bar away.
    func end() {
        if last > 0 { StandardStream.error.write("\r\u{1b}[K") }
        last = 0
    }

    /// A line that fits a width: the word, a bar, percent, and how long the rest will take.
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
