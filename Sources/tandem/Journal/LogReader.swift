import Algorithms
import Tandem

/// Reads a filtered range of a journal in either direction, in bounded memory.
struct LogReader {
    let source: any LogSource
    let filter: LogFilter
    /// Called with the position of each transaction that was read, whether or not it matches.
    var progress: (UInt64) -> Void = { _ in }

    /// The maximum number of bytes of transactions in memory; a single transaction may be larger.
    static let heldBytes = 4 << 20
    private static let firstWindow: UInt64 = 256
    private static let widestWindow: UInt64 = 1 << 16

    /// Passes the matching transactions of a range to `body`, oldest first, until it returns false.
    func forwards(
        after floor: UInt64, through top: UInt64, _ body: (LogEntry) throws -> Bool
    ) throws {
        guard floor < top else { return }
        try source.read(after: floor, through: top, filter) { transaction, _ in
            progress(transaction.position)
            guard let entry = try entry(transaction) else { return true }
            return try body(entry)
        }
    }

    /// Passes the matching transactions of a range to `body`, newest first, until it returns false.
    ///
    /// The range is read in windows from the end. The number of positions in a window adapts to the
    /// size of the matching transactions.
    func backwards(
        after floor: UInt64, through top: UInt64, _ body: (LogEntry, _ bytes: Int) throws -> Bool
    ) throws {
        var top = top
        var window = Self.firstWindow
        while top > floor {
            let low = top - min(top - floor, window)
            var held: [(entry: LogEntry, bytes: Int)] = []
            var bytes = 0
            var isTooMuch = false
            try source.read(after: low, through: top, filter) { transaction, size in
                guard let entry = try entry(transaction) else { return true }
                held.append((entry, size))
                bytes += size
                isTooMuch = bytes > Self.heldBytes && top - low > 1
                return !isTooMuch
            }
            if isTooMuch {
                window = max(1, (top - low) / 4)
                continue
            }
            for item in held.reversed() {
                guard try body(item.entry, item.bytes) else { return }
            }
            top = low
            if bytes < Self.heldBytes / 8 { window = min(window * 2, Self.widestWindow) }
        }
    }

    /// Passes the last `count` matching transactions of a range to `body`, oldest first.
    ///
    /// The transactions are searched from the end, and read again if they exceed ``heldBytes``.
    func last(
        _ count: Int, after floor: UInt64, through top: UInt64, _ body: (LogEntry) throws -> Bool
    ) throws {
        guard count > 0 else { return }
        var held: [LogEntry] = []
        var (bytes, found, start) = (0, 0, top)
        var holdsAll = true
        try backwards(after: floor, through: top) { entry, size in
            found += 1
            start = entry.transaction.position - 1
            bytes += size
            if bytes > Self.heldBytes {
                holdsAll = false
                held.removeAll()
            }
            if holdsAll { held.append(entry) }
            return found < count
        }
        guard holdsAll else { return try forwards(after: start, through: top, body) }
        for entry in held.reversed() {
            guard try body(entry) else { return }
        }
    }

    private func entry(_ transaction: Transaction) throws -> LogEntry? {
        let model = try source.model(for: transaction)
        guard let part = filter.filtered(transaction, model) else { return nil }
        return LogEntry(
            transaction: part, cursor: source.cursor(transaction.position), model: model)
    }

    // MARK: Time

    /// The largest backward step of a clock after which a search for a time still finds all
    /// transactions.
    static let slackMicroseconds: Int64 = 300_000_000

    /// Returns the first position in a range whose time is at least `time`, or the position after
    /// the range.
    ///
    /// The bisection assumes that times increase. If the clock was set back by more than
    /// ``slackMicroseconds``, transactions on the other side of the jump may be missed.
    static func position(
        of time: Int64, in source: any LogSource, after floor: UInt64, through top: UInt64
    ) throws -> UInt64 {
        try (floor + 1..<top + 1).partitioningIndex {
            guard let found = try source.time(from: $0) else { return true }
            return found >= time
        }
    }
}
