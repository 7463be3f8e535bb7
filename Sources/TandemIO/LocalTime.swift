import Glibc

/// A moment as clocks on the wall show it: in the zone of `TZ` or of the machine, or in UTC.
public struct LocalTime: Hashable, Sendable {
    /// The year, as 2026.
    public var year: Int
    /// 1 is January.
    public var month: Int
    /// The day of the month, from 1.
    public var day: Int
    /// 0 to 23.
    public var hour: Int
    /// 0 to 59.
    public var minute: Int
    /// 0 to 60.
    public var second: Int
    /// 0 is Sunday.
    public var weekday: Int
    /// What the zone was ahead of UTC at that moment.
    public var offsetSeconds: Int
    /// The zone's abbreviation at that moment.
    public var zone: String

    /// The moment so many seconds after 1970 began in UTC; nil for years that no calendar has.
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

    /// The seconds since 1970 at which the wall's clock shows a time; days and hours out of range run over into the next.
    ///
    /// A time that comes twice, when summer time ends, is its first; one that is left out when summer time
    /// begins is as long after the clock was put on as it says.
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
        // In summer time first: of two such times that is the earlier one.
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
