import FoundationEssentials

/// The conversion of values when an attribute's type is changed.
///
/// The conversion is a pure function of the value, as replay requires (law 6). A value that can't
/// be converted becomes null.
package struct ValueConversion: Hashable, Sendable {
    /// The type before the change.
    package let from: AttributeType
    /// The type after the change.
    package let to: AttributeType

    /// Creates the conversion between two types; returns nil if there is none.
    package init?(from: AttributeType, to: AttributeType) {
        guard from != to, ValueConversion.isKnown(from, to) else { return nil }
        self.from = from
        self.to = to
    }

    private static func isKnown(_ from: AttributeType, _ to: AttributeType) -> Bool {
        switch (from, to) {
        case (.data, _), (_, .data): false
        case (.string, _), (_, .string): true
        case (.bool, .int), (.int, .bool): true
        case (.int, .double), (.double, .int), (.int, .decimal), (.decimal, .int): true
        case (.double, .decimal), (.decimal, .double): true
        case (.date, .double), (.double, .date), (.int, .date), (.date, .int): true
        default: false
        }
    }

    /// A description of the conversion and of its effect on values that can't be converted.
    package var summary: String {
        switch (from, to) {
        case (_, .string): "values are converted to their text"
        case (.string, _): "texts are parsed as \(to.rawValue), others are lost"
        case (.int, .bool): "0 and 1 become false and true, others are lost"
        case (.date, _), (_, .date): "as seconds since 1970"
        case (_, .int): "whole numbers in range are kept, others are lost"
        case (.decimal, .double): "rounded to the nearest double"
        default: "numbers are kept"
        }
    }

    /// Returns the value in the other type; null if it can't be converted.
    package func callAsFunction(_ value: PropertyValue) -> PropertyValue {
        switch value {
        case .null, .data, .blob, .longText, .reference: .null
        case .string(let text): read(text)
        case .url(let text): printed(text)
        case .bool(let flag): to == .int ? .int(flag ? 1 : 0) : printed(flag ? "true" : "false")
        case .uuid(let uuid): printed(uuid.uuidString)
        case .int(let number): converted(number)
        case .double(let number): converted(number)
        case .decimal(let number): converted(number)
        case .date(let seconds): converted(date: seconds)
        }
    }

    private func printed(_ text: String) -> PropertyValue { to == .string ? .string(text) : .null }

    private func read(_ text: String) -> PropertyValue {
        switch to {
        case .int: Int64(text).map { .int($0) } ?? .null
        case .double: Double(text).flatMap { $0.isNaN ? nil : .double($0) } ?? .null
        case .bool: text == "true" ? .bool(true) : text == "false" ? .bool(false) : .null
        default: PropertyValue(json: .string(text), type: to) ?? .null
        }
    }

    private func converted(_ number: Int64) -> PropertyValue {
        switch to {
        case .bool: number == 0 || number == 1 ? .bool(number == 1) : .null
        case .double: .double(Double(number))
        case .date: .date(Double(number))
        case .decimal: .decimal(Decimal(number))
        default: printed("\(number)")
        }
    }

    private func converted(_ number: Double) -> PropertyValue {
        switch to {
        case .int: Int64(exactly: number).map { .int($0) } ?? .null
        case .date: number.isFinite ? .date(number) : .null
        case .decimal:
            number.isFinite
                ? Decimal(string: number.description).map { .decimal($0) } ?? .null : .null
        default: printed(number.description)
        }
    }

    private func converted(_ number: Decimal) -> PropertyValue {
        switch to {
        case .int: Int64(number.description).map { .int($0) } ?? .null
        case .double: Double(number.description).map { .double($0) } ?? .null
        default: printed(number.description)
        }
    }

    private func converted(date seconds: Double) -> PropertyValue {
        switch to {
        case .double: .double(seconds)
        case .int: Int64(exactly: seconds).map { .int($0) } ?? .null
        default: printed(PropertyValue.isoText(seconds))
        }
    }
}

extension PropertyValue {
    /// Returns a date as ISO 8601 in UTC, with milliseconds if it is not a whole second.
    fileprivate static func isoText(_ seconds: Double) -> String {
        let isWhole = seconds.rounded() == seconds
        return Date(timeIntervalSince1970: seconds).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: !isWhole))
    }
}
