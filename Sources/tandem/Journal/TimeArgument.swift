import Tandem
import TandemIO

/// A time on the command line: `today`, `-1h`, `2026-11-22 02:30`, `02:30`, `@1795000000`, or ISO
/// 8601 with a zone.
///
/// Without a zone, a time is in the zone of `TZ` or the machine, or in UTC with --utc. If an hour
/// occurs twice at the end of summer time, the first occurrence is meant. A time that is skipped at
/// the beginning of summer time is moved forward by the skipped hour.
struct TimeArgument {
    /// Microseconds since 1970.
    let microseconds: Int64

    /// Parses an argument; returns nil if it is not a time.
    init?(_ text: String, now: Int64, isUTC: Bool = false) {
        let reading = Reading(now: now, isUTC: isUTC)
        guard let found = reading.moment(text) else { return nil }
        microseconds = found
    }

    /// The accepted forms, for error messages.
    static let forms = "today, yesterday, now, -1h, '2026-11-22 02:30', 02:30, @SECONDS"
}

/// The parser of ``TimeArgument``.
private struct Reading {
    let now: Int64
    let isUTC: Bool
    private var today: LocalTime? {
        LocalTime(seconds: now / 1_000_000, isUTC: isUTC)
    }

    func moment(_ text: String) -> Int64? {
        switch text {
        case "now": return now
        case "today": return day(0)
        case "yesterday": return day(-1)
        case "tomorrow": return day(1)
        default: break
        }
        switch text.first {
        case "@": return Double(text.dropFirst()).flatMap(microseconds)
        case "-": return span(text.dropFirst()).map { now - $0 }
        case "+": return span(text.dropFirst()).map { now + $0 }
        default: break
        }
        if text.hasSuffix(" ago") { return span(text.dropLast(4)).map { now - $0 } }
        // Seconds, or ISO 8601 with a zone, as for dates in the JSON format.
        if case .date(let seconds)? = PropertyValue(json: .string(text), type: .date) {
            return microseconds(seconds)
        }
        return wall(text)
    }

    private func microseconds(_ seconds: Double) -> Int64? {
        Int64(exactly: (seconds * 1_000_000).rounded())
    }

    private func day(_ offset: Int) -> Int64? {
        guard let today else { return nil }
        return seconds(today.year, today.month, today.day + offset, [0, 0, 0])
    }

    private func seconds(_ year: Int, _ month: Int, _ day: Int, _ clock: [Int]) -> Int64? {
        LocalTime.seconds(
            year: year, month: month, day: day, hour: clock[0], minute: clock[1],
            second: clock[2], isUTC: isUTC
        ).map { $0 * 1_000_000 }
    }

    /// Parses `YYYY-MM-DD`, `HH:MM[:SS]`, or both with a space or T between them.
    private func wall(_ text: String) -> Int64? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: true)
            .flatMap { $0.split(separator: "T") }
        guard let first = parts.first, parts.count <= 2 else { return nil }
        if parts.count == 1, first.contains(":") {
            guard let today, let clock = clock(first) else { return nil }
            return seconds(today.year, today.month, today.day, clock)
        }
        let date = first.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard date.count == 3, let year = date[0], let month = date[1], let day = date[2],
            (1_900...9_999).contains(year), (1...12).contains(month), (1...31).contains(day),
            let clock = parts.count == 2 ? clock(parts[1]) : [0, 0, 0]
        else { return nil }
        return seconds(year, month, day, clock)
    }

    private func clock(_ text: Substring) -> [Int]? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard (2...3).contains(parts.count), !parts.contains(nil) else { return nil }
        let numbers = parts.compactMap { $0 } + [0]
        guard (0...23).contains(numbers[0]), (0...59).contains(numbers[1]),
            (0...60).contains(numbers[2])
        else { return nil }
        return Array(numbers.prefix(3))
    }

    /// Parses a duration such as `90`, `90s`, `2h30min` or `3 days`; returns microseconds.
    private func span(_ text: Substring) -> Int64? {
        var rest = text.filter { $0 != " " }[...]
        var sum: Double = 0
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isNumber || $0 == "." }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(unit.count)
            guard let number = Double(digits), let seconds = Self.units[String(unit)] else {
                return nil
            }
            sum += number * seconds
        }
        return sum < 4e9 ? microseconds(sum) : nil
    }

    private static let units: [String: Double] = [
        "": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1, "ms": 0.001, "m": 60, "min": 60,
        "minute": 60, "minutes": 60, "h": 3_600, "hour": 3_600, "hours": 3_600, "d": 86_400,
        "day": 86_400, "days": 86_400, "w": 604_800, "week": 604_800, "weeks": 604_800,
    ]
}
