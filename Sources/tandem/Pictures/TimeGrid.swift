/// Columns of equal width over time, so few that they fit a picture: the width grows with the time they span.
///
/// Widths are such as people know, each a multiple of the one before, so that growing is only adding columns up.
struct TimeGrid {
    /// No more columns are needed for what was noted.
    let limit: Int
    private(set) var level = 0
    /// The first and last column that something was noted in.
    private(set) var columns: ClosedRange<Int64>?

    /// No columns yet; of fewer than eight the widest would be too few for what calendars have.
    init(limit: Int) { self.limit = max(8, limit) }

    /// A column's width in microseconds.
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

    /// The column of a time in microseconds since 1970; times that no calendar has are those of the years 1 and 9999.
    func column(_ time: Int64) -> Int64 {
        Self.floor(min(max(time, Self.times.lowerBound), Self.times.upperBound), width)
    }

    /// What calendars have, so that no sum of widths is too large for a number.
    private static let times: ClosedRange<Int64> =
        -62_135_596_800_000_000...253_402_300_799_999_999

    /// Takes a time in; returns by how much columns have to be added up, 1 for not at all.
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

    /// The quotient, rounded down also below zero.
    static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
        value / divisor - (value % divisor < 0 ? 1 : 0)
    }
}
