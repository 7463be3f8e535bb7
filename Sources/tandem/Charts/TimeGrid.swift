/// Divides a span of time into a limited number of columns of equal width.
///
/// The columns widen as the span grows. Widths are round units of time; each is a multiple of the
/// previous one, so that columns can be merged by adding their counts.
struct TimeGrid {
    /// The maximum number of columns.
    let limit: Int
    private(set) var level = 0
    /// The columns from the earliest to the latest included time; nil if none was included.
    private(set) var columns: ClosedRange<Int64>?

    /// Creates a grid without columns.
    ///
    /// The limit is raised to 8, so that the widest columns can span all dates.
    init(limit: Int) { self.limit = max(8, limit) }

    /// The width of a column in microseconds.
    var width: Int64 { Self.widths[level] }

    /// The widths in microseconds, from a millisecond to a million days.
    static let widths: [Int64] = {
        let (second, day): (Int64, Int64) = (1_000_000, 86_400_000_000)
        let short: [Int64] = [1_000, 2_000, 10_000, 20_000, 100_000, 200_000]
        let clock = [1, 2, 10, 30, 60, 120, 600, 1_800, 3_600, 7_200, 21_600, 43_200]
            .map { $0 * second }
        let days = [1, 2, 10, 20, 100, 200, 1_000, 10_000, 100_000, 1_000_000].map { $0 * day }
        return short + clock + days
    }()

    /// Returns the column of a time in microseconds since 1970; the time is clamped to the years 1
    /// to 9999.
    func column(_ time: Int64) -> Int64 {
        Self.floor(min(max(time, Self.times.lowerBound), Self.times.upperBound), width)
    }

    /// The years 1 to 9999, a range in which no computation overflows.
    private static let times: ClosedRange<Int64> =
        -62_135_596_800_000_000...253_402_300_799_999_999

    /// Extends the grid to a time; returns the number of old columns that a new column combines.
    mutating func include(_ time: Int64) -> Int64 {
        let before = width
        var found = range(with: column(time))
        while found.upperBound - found.lowerBound >= limit, level + 1 < Self.widths.count {
            level += 1
            columns = columns.map { scaled($0, by: width / Self.widths[level - 1]) }
            found = range(with: column(time))
        }
        columns = found
        return width / before
    }

    private func range(with column: Int64) -> ClosedRange<Int64> {
        guard let columns else { return column...column }
        return min(columns.lowerBound, column)...max(columns.upperBound, column)
    }

    private func scaled(_ range: ClosedRange<Int64>, by factor: Int64) -> ClosedRange<Int64> {
        Self.floor(range.lowerBound, factor)...Self.floor(range.upperBound, factor)
    }

    /// Returns the quotient, rounded towards negative infinity.
    static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
        value / divisor - (value % divisor < 0 ? 1 : 0)
    }
}
