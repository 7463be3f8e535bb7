import Tandem

/// Conversions of cells to values.
enum CellValue {
    /// Parses the text of a cell; returns nil if the text is not a value of the type.
    ///
    /// - Numbers are decimal, with optional spaces around them. A whole number may be written as
    ///   `3.0` or `1e5`; infinite numbers are `Infinity` and `-Infinity`. A number out of range, or
    ///   a whole number that would be rounded, is rejected.
    /// - Booleans are true, t, yes, y and 1, or false, f, no, n and 0, in any case.
    /// - A date without a zone is in UTC, and a date without a time is midnight. Digits alone are
    ///   not a date, because `20130131` would be a day in 1970.
    static func read(_ text: String, _ type: AttributeType) -> PropertyValue? {
        switch type {
        case .int: return whole(text).map { .int($0) }
        case .double:
            let text = trimmed(text)
            return number(text).map { .double($0) } ?? infinity(String(text))
        case .decimal: return PropertyValue(json: .string(String(trimmed(text))), type: type)
        case .bool: return flag(text.lowercased()).map { .bool($0) }
        case .date: return date(text).map { .date($0) }
        case .string: return .string(text)
        default: return PropertyValue(json: .string(text), type: type)
        }
    }

    /// Returns a suffix for error messages that lists the accepted forms of a date; empty for other
    /// types.
    static func forms(_ type: AttributeType) -> String {
        guard type == .date else { return "" }
        return "; write a date as 2013-01-31, 2013-01-31 10:05:00 or 2013-01-31T10:05:00Z, "
            + "or give the columns of its parts in a map"
    }

    /// Parses a whole number; returns nil if the text is not a whole number.
    static func whole(_ text: String) -> Int64? {
        if let number = Int64(text) { return number }
        let text = trimmed(text)
        if let number = Int64(text) { return number }
        // A larger double may represent a number other than the one written.
        guard let number = number(text), number.magnitude < 0x1p53 else { return nil }
        return Int64(exactly: number)
    }

    /// Returns a finite number in decimal digits, or nil.
    private static func number(_ text: Substring) -> Double? {
        guard text.isDecimalNumber, let number = Double(text), number.isFinite else { return nil }
        return number
    }

    /// Returns the value of an infinite number in the form that `tandem export` writes.
    private static func infinity(_ text: String) -> PropertyValue? {
        PropertyValue(json: .string(text), type: .double)
    }

    private static func trimmed(_ text: String) -> Substring {
        var text = text[...]
        while text.last == " " { text.removeLast() }
        return text.drop { $0 == " " }
    }

    private static func flag(_ text: String) -> Bool? {
        switch text {
        case "true", "t", "yes", "y", "1": true
        case "false", "f", "no", "n", "0": false
        default: nil
        }
    }

    private static func date(_ text: String) -> Double? {
        if let moment = CivilTime(utc: text) { return moment.seconds }
        if let value = PropertyValue(json: .string(text), type: .date),
            case .date(let seconds) = value
        {
            return seconds
        }
        return nil
    }
}

/// A date and time of the Gregorian calendar, in UTC.
struct CivilTime: Equatable {
    var year: Int64
    var month: Int64 = 1
    var day: Int64 = 1
    var hour: Int64 = 0
    var minute: Int64 = 0
    var second: Int64 = 0

    /// Seconds since 1970; nil if the day or time does not exist.
    ///
    /// A time of 24:00 is the end of the day.
    var seconds: Double? {
        guard (-9_999...9_999).contains(year), (1...12).contains(month),
            (1...Self.days(of: month, in: year)).contains(day), (0...24).contains(hour),
            (0...59).contains(minute), (0...59).contains(second),
            hour < 24 || (minute == 0 && second == 0)
        else { return nil }
        return Double(dayNumber * 86_400 + hour * 3_600 + minute * 60 + second)
    }

    private static func days(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01, computed with years that begin in March, so that a leap day is the
    /// last day of its year.
    private var dayNumber: Int64 {
        let year = month > 2 ? year : year - 1
        let era = (year >= 0 ? year : year - 399) / 400
        let ofEra = year - era * 400
        let ofYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }
}

extension CivilTime {
    /// Parses `2013-01-31`, `2013-01-31 10:05:00` and `2013-01-31T10:05:00Z`; nil for anything
    /// else.
    ///
    /// These forms are the usual ones in tables, and parsing them does not need a slow formatter.
    init?(utc text: String) {
        var bytes = Array(text.utf8)[...]
        guard let year = Self.number(&bytes, 4), Self.consume("-", &bytes),
            let month = Self.number(&bytes, 2), Self.consume("-", &bytes),
            let day = Self.number(&bytes, 2)
        else { return nil }
        self.init(year: year, month: month, day: day)
        if bytes.isEmpty { return }
        guard Self.consume("T", &bytes) || Self.consume(" ", &bytes),
            let hour = Self.number(&bytes, 2), Self.consume(":", &bytes),
            let minute = Self.number(&bytes, 2), Self.consume(":", &bytes),
            let second = Self.number(&bytes, 2)
        else { return nil }
        (self.hour, self.minute, self.second) = (hour, minute, second)
        _ = Self.consume("Z", &bytes)
        guard bytes.isEmpty else { return nil }
    }

    private static func number(_ bytes: inout ArraySlice<UInt8>, _ digits: Int) -> Int64? {
        guard bytes.count >= digits else { return nil }
        var number: Int64 = 0
        for byte in bytes.prefix(digits) {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        bytes = bytes.dropFirst(digits)
        return number
    }

    private static func consume(_ character: Unicode.Scalar, _ bytes: inout ArraySlice<UInt8>)
        -> Bool
    {
        guard bytes.first == UInt8(ascii: character) else { return false }
        bytes = bytes.dropFirst()
        return true
    }
}
