/// The unit in which a number in the configuration is given and displayed.
package enum SettingUnit: Sendable {
    /// A plain number.
    case count
    /// Bytes, such as `64 KiB`, `16 MiB` or `1 GiB`.
    case bytes
    /// Milliseconds, such as `250 ms`, `5 s` or `2 min`.
    case milliseconds
    /// Seconds, such as `90 s`, `30 min`, `12 h` or `30 d`.
    case seconds

    /// The suffixes and their factors, smallest first; the first one is optional.
    private var suffixes: [(name: String, factor: Int)] {
        switch self {
        case .count: [("", 1)]
        case .bytes:
            [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)]
        case .milliseconds: [("ms", 1), ("s", 1_000), ("min", 60_000)]
        case .seconds: [("s", 1), ("min", 60), ("h", 3_600), ("d", 86_400)]
        }
    }

    /// Parses a number with an optional suffix; returns nil if it is invalid or too large.
    package func number(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text.dropFirst(digits.count).drop { $0 == " " }
        guard let number = Int(digits) else { return nil }
        guard !suffix.isEmpty else { return number }
        guard let factor = suffixes.first(where: { $0.name == suffix })?.factor else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }

    /// Formats a number in the largest unit that divides it exactly.
    package func text(_ number: Int) -> String {
        let fit = suffixes.last { number != 0 && number % $0.factor == 0 } ?? suffixes[0]
        return fit.name.isEmpty ? "\(number)" : "\(number / fit.factor) \(fit.name)"
    }
}
