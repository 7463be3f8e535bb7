/// Formats and parses byte counts; a KiB has 1,024 bytes.
enum ByteText {
    private static let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]

    /// Returns a string such as `512 bytes`, `1.5 MiB` or `64 MiB`.
    static func text(_ bytes: UInt64) -> String {
        var (number, unit) = (Double(bytes), 0)
        // A number that would be rounded to 1,024 is printed in the next unit.
        while number >= 1_023.95, unit + 1 < units.count {
            number /= 1_024
            unit += 1
        }
        let tenths = Int((number * 10).rounded())
        let whole = tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
        return "\(whole) \(units[unit])"
    }

    /// Parses a number such as `1048576`, `512K`, `1.5G` or `64 MiB`; returns nil if it is invalid.
    static func number(_ text: String) -> UInt64? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let suffix = text.dropFirst(digits.count).drop { $0 == " " }.uppercased()
        guard let number = Double(digits), let power = power(suffix) else { return nil }
        return UInt64(exactly: (number * power).rounded(.down))
    }

    private static func power(_ suffix: String) -> Double? {
        if ["", "B", "BYTES"].contains(suffix) { return 1 }
        guard let letter = suffix.first, ["", "B", "IB"].contains(suffix.dropFirst()),
            let index = "KMGTP".firstIndex(of: letter)
        else { return nil }
        return (0...("KMGTP".distance(from: "KMGTP".startIndex, to: index)))
            .reduce(1.0) { power, _ in power * 1_024 }
    }
}
