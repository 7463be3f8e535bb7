import Tandem
import TandemIO

/// `log -f`: prints new transactions until the output has no reader.
///
/// The follower survives restarts of the daemon, removals from the journal, and a replaced log. If
/// transactions can't be shown, because they were removed or the log was replaced, a line reports
/// the gap, and the output continues at the journal's first position.
final class LogFollower {
    private let source: DaemonSource
    private let filter: LogFilter
    private let output: LineOutput
    private let isQuiet: Bool
    private var isWaiting = false
    /// The timeout of a wait in seconds, and so the longest time until a replaced daemon is
    /// detected.
    private static let seconds = 2.0

    init(_ source: any LogSource, _ filter: LogFilter, _ output: LineOutput, quiet: Bool) throws {
        guard let source = source as? DaemonSource else {
            throw CommandFailure("--follow needs a daemon, not -D", code: 2)
        }
        self.source = source
        self.filter = filter
        self.output = output
        isQuiet = quiet
    }

    /// Prints the transactions after a position of the source's log.
    ///
    /// The cursor is recorded after each page; it covers transactions that the filter excludes.
    func follow(
        after last: UInt64, isJSON: Bool, _ show: (LogEntry) throws -> Bool,
        _ keepCursor: (String) throws -> Void
    ) throws {
        guard var position = source.cursor(last) else { return }
        try keepCursor(position.description)
        var kept = position
        var isExpired = false
        while !output.isClosed {
            do {
                let end = try isExpired ? source.lastPosition() : next(after: position)
                isWaiting = false
                if let reason = reasonForGap(position, end) ?? (isExpired ? "" : nil) {
                    position = try resume(from: position, end, reason, isJSON)
                }
                isExpired = false
                try advance(&position, through: end, show)
                if position != kept { try keepCursor(position.description) }
                kept = position
                output.checkReader()
            } catch let error as TandemError where Self.isTransient(error) {
                source.discardCache()
                reportWaiting(error)
                output.checkReader()
            } catch let error as TandemError where error.code == .historyExpired {
                isExpired = true
            }
        }
    }

    /// Prints the available transactions.
    ///
    /// The position advances with each printed transaction, so that none is printed twice after an
    /// error.
    private func advance(
        _ position: inout Position, through end: Position, _ show: (LogEntry) throws -> Bool
    ) throws {
        guard position.number < end.number else { return }
        let reader = LogReader(source: source, filter: filter)
        var (last, isOpen) = (position.number, true)
        defer { position = position.at(last) }
        try reader.forwards(after: last, through: end.number) { entry in
            isOpen = try show(entry)
            if isOpen { last = entry.transaction.position }
            return isOpen
        }
        if isOpen { last = end.number }
    }

    /// Waits for a transaction after `position`, or for the timeout, and returns the last position.
    private func next(after position: Position) throws -> Position {
        do {
            _ = try source.container.wait(forNumber: position.number + 1, timeout: Self.seconds)
        } catch let error as TandemError where error.code == .timeout {}
        return try source.lastPosition()
    }

    /// Returns the reason why the log does not continue after `position`, or nil if it does.
    private func reasonForGap(_ position: Position, _ end: Position) -> String? {
        if position.log != end.log { return "the daemon has another log" }
        if position.epoch != end.epoch { return "the log was restored" }
        return end.number < position.number ? "the log ends at \(end.number)" : nil
    }

    /// Reports a gap, and returns the position before the journal's first one.
    private func resume(
        from position: Position, _ end: Position, _ reason: String, _ isJSON: Bool
    ) throws -> Position {
        source.discardCache()
        let (first, _) = try source.bounds()
        let why = reason.isEmpty ? "the journal begins at \(first)" : reason
        if isJSON {
            let gap: JSON = .object([
                "after": .string(position.description),
                "next": .string(end.at(first).description), "reason": .string(why),
            ])
            output.line(JSON.object(["gap": gap]).text)
        } else {
            printRemark(
                "gap: transactions after \(position) cannot be shown: \(why); continuing at \(end.at(first))"
            )
        }
        return end.at(first - 1)
    }

    private static func isTransient(_ error: TandemError) -> Bool {
        error.code == .disconnected || error.code == .timeout
    }

    private func reportWaiting(_ error: TandemError) {
        guard !isWaiting, !isQuiet else { return }
        isWaiting = true
        printRemark("\(error.message); waiting for the daemon")
    }
}
