import FoundationEssentials
import TandemModel

/// Comparison of values: numbers by value, whatever their types, and texts by code point.
enum ValueOrder {
    /// Returns a negative number, zero or a positive number; nil if a value is null or the two
    /// can't be compared.
    static func compare(_ a: PropertyValue, _ b: PropertyValue) -> Int? {
        switch (a, b) {
        case (.int(let a), .int(let b)): order(a, b)
        case (.double(let a), .double(let b)), (.date(let a), .date(let b)),
            (.double(let a), .date(let b)), (.date(let a), .double(let b)):
            a == b ? 0 : a < b ? -1 : a > b ? 1 : nil
        case (.int(let a), .double(let b)), (.int(let a), .date(let b)): compare(a, b)
        case (.double(let a), .int(let b)), (.date(let a), .int(let b)): compare(b, a).map { -$0 }
        case (.decimal(let a), _): number(b).flatMap { compare(a, $0) }
        case (_, .decimal(let b)): number(a).flatMap { compare(b, $0) }.map { -$0 }
        case (.bool(let a), .bool(let b)): order(a ? 1 : 0, b ? 1 : 0)
        case (.data, _), (.blob, _): data(a, b)
        case (.uuid(let a), .uuid(let b)):
            withUnsafeBytes(of: a.uuid) { a in
                withUnsafeBytes(of: b.uuid) { compare(bytes: Array(a), Array($0)) }
            }
        case (.reference(let a), .reference(let b)): order(a.number, b.number)
        default: texts(a, b)
        }
    }

    private static func data(_ a: PropertyValue, _ b: PropertyValue) -> Int? {
        guard let a = a.dataBytes, let b = b.dataBytes else { return nil }
        return compare(bytes: a, b)
    }

    /// Returns whether two values that aren't null are equal.
    static func areEqual(_ a: PropertyValue, _ b: PropertyValue) -> Bool { compare(a, b) == 0 }

    /// Compares an integer with a double without rounding either.
    static func compare(_ a: Int64, _ b: Double) -> Int? {
        if b.isNaN { return nil }
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        let whole = b.rounded(.towardZero)
        let integers = order(a, Int64(whole))
        return integers != 0 ? integers : order(whole, b)
    }

    /// Compares byte by byte; a prefix sorts first.
    static func compare(bytes a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Int {
        var rest = b.makeIterator()
        for byte in a {
            guard let other = rest.next() else { return 1 }
            if byte != other { return byte < other ? -1 : 1 }
        }
        return rest.next() == nil ? 0 : -1
    }

    private static func order<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }

    private static func texts(_ a: PropertyValue, _ b: PropertyValue) -> Int? {
        if let a = a.text, let b = b.text { return compare(bytes: a.utf8, b.utf8) }
        guard let a = a.textKey, let b = b.textKey else { return nil }
        return compare(bytes: a, b)
    }

    // MARK: Decimals

    private enum Number { case decimal(Decimal), double(Double) }

    private static func number(_ value: PropertyValue) -> Number? {
        switch value {
        case .decimal(let value): .decimal(value)
        case .int(let value): .decimal(Decimal(value))
        case .double(let value), .date(let value):
            Decimal(string: value.description).map { .decimal($0) } ?? .double(value)
        default: nil
        }
    }

    /// Compares a decimal with a number; a double beyond the range of decimals is compared with the
    /// decimal as a double.
    private static func compare(_ a: Decimal, _ b: Number) -> Int? {
        switch b {
        case .decimal(let b): return order(a, b)
        case .double(let b):
            guard !b.isNaN, let a = Double(a.description) else { return nil }
            return order(a, b)
        }
    }
}
