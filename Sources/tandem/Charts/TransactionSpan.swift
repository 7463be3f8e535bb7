import Tandem

/// The range of the counted transactions, in positions and in time.
struct TransactionSpan: Equatable {
    private(set) var first: UInt64
    private(set) var last: UInt64
    /// The earliest time in microseconds since 1970.
    ///
    /// It is not the time of the first transaction if a clock was set back.
    private(set) var earliest: Int64
    private(set) var latest: Int64

    fileprivate init(_ transaction: Transaction) {
        (first, last) = (transaction.position, transaction.position)
        (earliest, latest) = (transaction.time, transaction.time)
    }

    fileprivate mutating func add(_ transaction: Transaction) {
        first = min(first, transaction.position)
        last = max(last, transaction.position)
        earliest = min(earliest, transaction.time)
        latest = max(latest, transaction.time)
    }

    /// The range of positions as text.
    var positions: String { first == last ? "position \(first)" : "positions \(first) to \(last)" }

    /// Returns the range of times as text.
    func times(_ clock: inout WallClock) -> String {
        earliest == latest
            ? clock.short(earliest) : "\(clock.short(earliest)) to \(clock.short(latest))"
    }
}

extension TransactionSpan? {
    /// Extends the span by a transaction.
    mutating func extend(by transaction: Transaction) {
        if self == nil { self = TransactionSpan(transaction) } else { self?.add(transaction) }
    }
}
