import FoundationEssentials

/// A limit on values or lengths, exact for 64-bit integers and decimal numbers.
///
///     Attribute("size", .int, min: 0, max: 9_007_199_254_740_993)
public struct NumberLimit: Hashable, Sendable, Comparable, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral
{
    let measure: Measure

    /// Creates a limit from an integer.
    public init(_ value: Int64) { measure = .int(value) }

    /// Creates a limit from any number except NaN; a whole number equals the integer limit.
    public init(_ value: Double) {
        require(!value.isNaN, "A limit must be a number.")
        measure = Int64(exactly: value).map { .int($0) } ?? .double(value)
    }

    /// Creates a limit from an integer.
    public init(integerLiteral value: Int64) { self.init(value) }

    /// Creates a limit from any number except NaN.
    public init(floatLiteral value: Double) { self.init(value) }

    /// The limit as JSON, as in a model.
    var json: JSON {
        switch measure {
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .decimal(let value): .string(value.description)
        }
    }

    var text: String { json.text }

    /// Returns whether one limit is less than another.
    public static func < (left: NumberLimit, right: NumberLimit) -> Bool {
        left.measure.isLess(than: right.measure)
    }
}

/// A number in its own type, for exact comparison with a limit.
enum Measure: Hashable, Sendable {
    case int(Int64)
    case double(Double)
    case decimal(Decimal)

    /// Returns whether this number is less than another, without rounding either to the other's
    /// type.
    func isLess(than other: Measure) -> Bool {
        switch (self, other) {
        case (.int(let left), .int(let right)): left < right
        case (.double(let left), .double(let right)): left < right
        case (.int(let left), .double(let right)): Measure.order(left, right) < 0
        case (.double(let left), .int(let right)): Measure.order(right, left) > 0
        case (.decimal(let left), _): left < other.asDecimal
        case (_, .decimal(let right)): asDecimal < right
        }
    }

    /// Returns a negative number, 0 or a positive number if the integer is below, equal to or above
    /// the double.
    private static func order(_ int: Int64, _ double: Double) -> Int {
        if double >= 0x1p63 { return -1 }
        if double < -0x1p63 { return 1 }
        let whole = double.rounded(.down)
        let other = Int64(whole)
        if int != other { return int < other ? -1 : 1 }
        return double > whole ? -1 : 0
    }

    private var asDecimal: Decimal {
        switch self {
        case .int(let value): Decimal(value)
        // The shortest text that identifies the double is converted: 0.1 becomes one tenth.
        case .double(let value): Decimal(string: value.description) ?? Decimal(value)
        case .decimal(let value): value
        }
    }
}
