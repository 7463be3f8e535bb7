import Tandem
import TandemIO

/// A range of positions to read.
struct LogRange {
    /// The position before the first one.
    var floor: UInt64
    /// The last position.
    var top: UInt64
    /// Whether a cursor defines the start; `-n` then counts from the start, as in journalctl.
    let startsAtCursor: Bool
    /// Whether a cursor, a position or a time defines the start.
    let hasStart: Bool

    /// Determines the range selected by the options, within the positions of the journal.
    ///
    /// Throws a failure if the start is before the journal's first position, or more than one
    /// position after its last. Times are found by bisection, with five minutes of slack on either
    /// side, because clocks may have been set back. The filter then compares each transaction with
    /// the exact times.
    init(_ options: LogRangeOptions, _ source: any LogSource, _ filter: LogFilter) throws {
        let (first, last) = try source.bounds()
        floor = first - 1
        top = min(last, options.to ?? .max)
        let start = try options.start(source)
        startsAtCursor = start != nil && options.from == nil
        hasStart = start != nil || filter.since != nil
        if let start {
            // The position after a cursor may not exist yet.
            let isAfter = options.from == nil && options.cursor == nil
            if start > last + 1 {
                try CommandFailure.checkReached(isAfter ? start - 1 : start, last)
            }
            guard start >= first else {
                throw CommandFailure(
                    TandemError.expired(start, oldest: first, remedy: "use --from \(first)"))
            }
            floor = start - 1
        }
        guard floor < top else { return }
        let slack = LogReader.slackMicroseconds
        if let since = filter.since {
            floor =
                try LogReader.position(
                    of: since.shifted(by: -slack), in: source, after: floor, through: top) - 1
        }
        if let until = filter.until, floor < top {
            top =
                try LogReader.position(
                    of: until.shifted(by: slack), in: source, after: floor, through: top) - 1
        }
    }
}

extension Int64 {
    /// Returns the time shifted by a duration, clamped to the representable range.
    fileprivate func shifted(by microseconds: Int64) -> Int64 {
        let (time, isBeyond) = addingReportingOverflow(microseconds)
        return isBeyond ? (microseconds < 0 ? .min : .max) : time
    }
}

extension LogRangeOptions {
    /// Returns the first requested position, or nil for the journal's first one.
    func start(_ source: any LogSource) throws -> UInt64? {
        if let from { return max(from, 1) }
        if let cursor { return try Self.number(cursor, source) }
        if let afterCursor { return try Self.position(after: afterCursor, source) }
        let files = RealFileSystem()
        // A pipe or a device contains no cursor of an earlier run.
        guard let cursorFile, files.exists(cursorFile), !files.isSpecialFile(cursorFile) else {
            return nil
        }
        let bytes: [UInt8]
        do {
            bytes = try files.contents(of: cursorFile, maximumBytes: 4_096)
        } catch {
            throw CommandFailure("\(error)", code: 2)
        }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        guard !text.isEmpty else { return nil }
        guard UInt64(text) != nil || Position(text) != nil else {
            throw CommandFailure(
                "\(cursorFile) does not contain a cursor; name another file with --cursor-file",
                code: 2)
        }
        return try Self.position(after: text, source)
    }

    /// Returns the position after a cursor.
    private static func position(after text: String, _ source: any LogSource) throws -> UInt64 {
        let (next, isBeyond) = try number(text, source).addingReportingOverflow(1)
        guard !isBeyond else {
            throw CommandFailure(
                "`\(text)` is the largest possible position; nothing can follow it", code: 2)
        }
        return next
    }

    /// Returns the number of a cursor; throws if the cursor belongs to another log or epoch.
    static func number(_ text: String, _ source: any LogSource) throws -> UInt64 {
        if let number = UInt64(text) { return number }
        guard let position = Position(text) else {
            throw CommandFailure.notAPosition(text)
        }
        guard source.cursor(0).map({ position.isComparable(with: $0) }) ?? true else {
            throw CommandFailure(TandemError.foreign(position, remedy: "begin with --from"))
        }
        return position.number
    }
}
