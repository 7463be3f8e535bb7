import TandemIO

/// Formats the times of transactions for human readers.
struct WallClock {
    /// Whether times are in UTC, instead of the time zone of `TZ` or the machine.
    var isUTC: Bool
    private var known: (second: Int64, time: LocalTime)?

    init(isUTC: Bool) { self.isUTC = isUTC }

    static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// Returns a time like journalctl's: `Nov 22 02:49:41.123`.
    mutating func short(_ microseconds: Int64) -> String {
        guard let time = time(microseconds) else { return "?" }
        return "\(Self.months[time.month - 1]) \(Self.two(time.day)) \(Self.day(time))."
            + Self.padded(Self.fraction(microseconds) / 1_000, 3)
    }

    /// Returns a time in ISO 8601, to the millisecond, with the offset from UTC.
    ///
    /// The offset distinguishes the two occurrences of the hour that repeats when summer time ends.
    mutating func iso(_ microseconds: Int64) -> String {
        guard let time = time(microseconds) else { return "?" }
        return "\(Self.date(time))T\(Self.day(time))."
            + Self.padded(Self.fraction(microseconds) / 1_000, 3) + Self.offset(time)
    }

    /// Returns weekday, date, time to the microsecond, and time zone.
    mutating func whole(_ microseconds: Int64) -> String {
        guard let time = time(microseconds) else { return "?" }
        return "\(Self.days[time.weekday]) \(Self.date(time)) \(Self.day(time))."
            + Self.padded(Self.fraction(microseconds), 6) + " " + time.zone
    }

    /// Returns the local time; caches the last result, because consecutive transactions are often
    /// in the same second.
    private mutating func time(_ microseconds: Int64) -> LocalTime? {
        let second = microseconds / 1_000_000 - (microseconds % 1_000_000 < 0 ? 1 : 0)
        if let known, known.second == second { return known.time }
        guard let time = LocalTime(seconds: second, isUTC: isUTC) else { return nil }
        known = (second, time)
        return time
    }

    private static func fraction(_ microseconds: Int64) -> Int {
        let rest = microseconds % 1_000_000
        return Int(rest < 0 ? rest + 1_000_000 : rest)
    }

    private static func date(_ time: LocalTime) -> String {
        "\(padded(time.year, 4))-\(two(time.month))-\(two(time.day))"
    }

    private static func day(_ time: LocalTime) -> String {
        "\(two(time.hour)):\(two(time.minute)):\(two(time.second))"
    }

    private static func offset(_ time: LocalTime) -> String {
        let minutes = abs(time.offsetSeconds) / 60
        let sign = time.offsetSeconds < 0 ? "-" : "+"
        return "\(sign)\(two(minutes / 60)):\(two(minutes % 60))"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
