import Glibc

/// A moment as calendar date and time of day, in the zone of `TZ` or of the machine, or in UTC.
public struct LocalTime: Hashable, Sendable {
    /// The year, such as 2026.
    public var year: Int
    /// The month, from 1 (January).
    public var month: Int
    /// The day of the month, from 1.
    public var day: Int
    /// The hour, 0 to 23.
    public var hour: Int
    /// The minute, 0 to 59.
    public var minute: Int
    /// The second, 0 to 60.
    public var second: Int
    /// The day of the week, from 0 (Sunday).
    public var weekday: Int
    /// The zone's offset from UTC at that moment, positive to the east.
    public var offsetSeconds: Int
    /// The zone's abbreviation at that moment.
    public var zone: String

    /// Creates the moment `seconds` after the start of 1970 in UTC; nil for years outside the
    /// calendar's range.
    public init?(seconds: Int64, isUTC: Bool = false) {
        var moment = time_t(seconds)
        var parts = tm()
        guard (isUTC ? gmtime_r(&moment, &parts) : localtime_r(&moment, &parts)) != nil else {
            return nil
        }
        year = Int(parts.tm_year) + 1_900
        month = Int(parts.tm_mon) + 1
        day = Int(parts.tm_mday)
        (hour, minute, second) = (Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
        weekday = Int(parts.tm_wday)
        offsetSeconds = isUTC ? 0 : Int(parts.tm_gmtoff)
        zone = isUTC ? "UTC" : parts.tm_zone.map { String(cString: $0) } ?? ""
    }

    /// Returns the seconds since 1970 of a local date and time, or of one in UTC.
    ///
    /// Out-of-range days and hours carry over into the next unit.
    ///
    /// If a time occurs twice because summer time ends, its first occurrence is returned. A time
    /// that is skipped when summer time begins is read as standard time, so it denotes a moment
    /// after the change.
    public static func seconds(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0,
        isUTC: Bool = false
    ) -> Int64? {
        var parts = tm()
        let fields = [year - 1_900, month - 1, day, hour, minute, second].map {
            Int32(clamping: $0)
        }
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (fields[0], fields[1], fields[2])
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (fields[3], fields[4], fields[5])
        if isUTC { return Int64(timegm(&parts)) }
        // A time that occurs twice occurs in summer time first, and `min` chooses the earlier
        // moment.
        let found = [Int32(1), 0].compactMap { isSummer -> Int64? in
            var asked = parts
            asked.tm_isdst = isSummer
            let moment = mktime(&asked)
            return asked.tm_isdst == isSummer ? Int64(moment) : nil
        }
        if let first = found.min() { return first }
        parts.tm_isdst = 0
        return Int64(mktime(&parts))
    }
}
