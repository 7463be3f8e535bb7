/// Formats numbers, sizes and durations for human readers.
enum Quantity {
    /// Returns a number with commas between thousands: `12,345`.
    static func count(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var grouped = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { grouped += "," }
            grouped.append(digit)
        }
        return number < 0 ? "-" + grouped : grouped
    }

    /// Returns a number with its noun: `1 change`, `2 changes`.
    static func count(_ number: Int, _ noun: String) -> String {
        "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Returns a size in bytes: `512 B`, `1.5 KiB`.
    static func bytes(_ number: Int) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
        var (value, unit) = (Double(number), 0)
        while value >= 1_024, unit < units.count - 1 { (value, unit) = (value / 1_024, unit + 1) }
        return "\(short(value)) \(units[unit])"
    }

    /// Returns a duration in microseconds: `17 µs`, `1.02 ms`, `2.5 min`, `3 d`.
    static func duration(_ microseconds: Int64) -> String {
        let units: [(String, Double)] = [
            ("µs", 1), ("ms", 1e3), ("s", 1e6), ("min", 6e7), ("h", 3.6e9), ("d", 8.64e10),
        ]
        let value = Double(microseconds)
        let unit = units.last { value >= $0.1 } ?? units[0]
        return "\(short(value / unit.1)) \(unit.0)"
    }

    /// Returns a number rounded to three significant digits, or to an integer if that has more;
    /// omits trailing zeros of a fraction.
    private static func short(_ value: Double) -> String {
        let digits = value < 10 ? 100.0 : value < 100 ? 10 : 1
        let rounded = (value * digits).rounded() / digits
        return Int(exactly: rounded).map { String($0) } ?? "\(rounded)"
    }
}
