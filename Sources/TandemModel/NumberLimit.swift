import FoundationEssentials

/// A number that values or lengths are held against, exact for 64-bit integers and decimal numbers.
///
///     Attribute("size", .int, min: 0, max: 9_007_199_254_740_993)
public struct NumberLimit: Hashable, Sendable, Comparable, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral
{
    let measure: Measure

    /// A whole number.
    public init(_ value: Int64) { measure = .int(value) }

    /// Any number that is not NaN; a whole one is the same as the integer.
    public init(_ value: Double) {
        precondition(!value.isNaN, "A limit is a number.")
        measure = Int64(exactly: value).map { .int($0) } ?? .double(value)
    }

    /// A whole number.
    public init(integerLiteral value: Int64) { self.init(value) }

    /// Any number.
    public init(floatLiteral value: Double) { self.init(value) }

    /// As it stands in a model.
    var json: JSON {
        switch measure {
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .decimal(let value): .string(value.description)
        }
    }

    var text: String { json.text }

    /// The order of the numbers.
    public static func < (left: NumberLimit, right: NumberLimit) -> Bool {
        left.measure.isLess(than: right.measure)
    }
}

/// What a limit is held against: a number in its own type.
enum Measure: Hashable, Sendable {
    case int(Int64)
    case double(Double)
    case decimal(Decimal)

    /// The order of the numbers, without rounding one to the other's type.
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

    /// Negative, 0 or positive as the integer is below, equal to or above the double.
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
        // By its shortest text: 0.1 is one tenth.
        case .double(let value): Decimal(string: value.description) ?? Decimal(value)
        case .decimal(let value): value
        }
    }
}
