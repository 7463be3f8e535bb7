import FoundationEssentials
import TandemModel

/// Arithmetic on values: integer for two integers, decimal if both are integers or decimals, and
/// otherwise double.
enum Calculation {
    static func apply(_ op: Arithmetic, _ a: PropertyValue, _ b: PropertyValue) -> PropertyValue {
        switch (a, b) {
        case (.int(let a), .int(let b)): return apply(op, a, b)
        case (.decimal(let a), .decimal(let b)): return apply(op, a, b)
        case (.decimal(let a), .int(let b)): return apply(op, a, Decimal(b))
        case (.int(let a), .decimal(let b)): return apply(op, Decimal(a), b)
        default:
            guard let a = double(a), let b = double(b) else { return .null }
            return apply(op, a, b)
        }
    }

    private static func apply(_ op: Arithmetic, _ a: Int64, _ b: Int64) -> PropertyValue {
        if op == .divide, b == 0 { return .null }
        let (result, overflow) =
            switch op {
            case .add: a.addingReportingOverflow(b)
            case .subtract: a.subtractingReportingOverflow(b)
            case .multiply: a.multipliedReportingOverflow(by: b)
            case .divide: a.dividedReportingOverflow(by: b)
            }
        return overflow ? apply(op, Double(a), Double(b)) : .int(result)
    }

    private static func apply(_ op: Arithmetic, _ a: Decimal, _ b: Decimal) -> PropertyValue {
        if op == .divide, b == 0 { return .null }
        // Foundation adds the exponents as eight-bit integers, and traps if the sum overflows.
        if op == .multiply, !(-128...127).contains(a.exponent + b.exponent) { return .null }
        let result =
            switch op {
            case .add: a + b
            case .subtract: a - b
            case .multiply: a * b
            case .divide: a / b
            }
        return result.isFinite ? .decimal(result) : .null
    }

    private static func apply(_ op: Arithmetic, _ a: Double, _ b: Double) -> PropertyValue {
        let result =
            switch op {
            case .add: a + b
            case .subtract: a - b
            case .multiply: a * b
            case .divide: a / b
            }
        return result.isFinite ? .double(result) : .null
    }

    /// Returns the number as a double, and a date as its seconds.
    private static func double(_ value: PropertyValue) -> Double? {
        switch value {
        case .int(let value): Double(value)
        case .double(let value), .date(let value): value
        case .decimal(let value): Double(value.description)
        default: nil
        }
    }

    // MARK: Aggregates

    static func aggregate(_ aggregate: Aggregate, _ values: [PropertyValue]) -> PropertyValue {
        let values = values.filter { !$0.isNull }
        switch aggregate {
        case .count: return .int(Int64(values.count))
        case .sum: return sum(values)
        case .min:
            return values.dropFirst().reduce(values.first ?? .null) {
                (ValueOrder.compare($1, $0) ?? 0) < 0 ? $1 : $0
            }
        case .max:
            return values.dropFirst().reduce(values.first ?? .null) {
                (ValueOrder.compare($1, $0) ?? 0) > 0 ? $1 : $0
            }
        case .avg:
            guard !values.isEmpty, let total = double(sum(values)) else { return .null }
            return .double(total / Double(values.count))
        }
    }

    /// Adds the values in sorted order, so that rounding does not depend on the order of members.
    private static func sum(_ values: [PropertyValue]) -> PropertyValue {
        let sorted = values.sorted { (ValueOrder.compare($0, $1) ?? 0) < 0 }
        return sorted.reduce(.int(0)) { apply(.add, $0, $1) }
    }
}
