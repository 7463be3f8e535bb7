import FoundationEssentials

/// Attribute values as JSON, by the rules of the bridge, which apply to all JSON of Tandem.
extension PropertyValue {
    /// Reads a value of `type`; returns nil if the JSON does not fit.
    ///
    /// Dates are seconds since 1970, or ISO 8601 with a zone; data is base64; uuid, url and decimal
    /// are strings. An integer is accepted for a double and, if it is in range, for a decimal.
    /// Infinite doubles are the strings `Infinity` and `-Infinity`.
    package init?(json: JSON, type: AttributeType) {
        switch (type, json) {
        case (_, .null): self = .null
        case (.bool, .bool(let value)): self = .bool(value)
        case (.int, .int(let value)): self = .int(value)
        case (.double, .int), (.double, .double):
            guard let value = json.number, !value.isNaN else { return nil }
            self = .double(value)
        case (.double, .string(let text)):
            guard let value = Double(infinity: text) else { return nil }
            self = .double(value)
        case (.string, .string(let value)): self = .string(value)
        case (.url, .string(let value)): self = .url(value)
        case (.date, .int), (.date, .double):
            guard let value = json.number, value.isFinite else { return nil }
            self = .date(value)
        case (.date, .string(let text)):
            guard let seconds = ISODate.seconds(text) else { return nil }
            self = .date(seconds)
        case (.data, .string(let text)):
            guard let data = Data(base64Encoded: text) else { return nil }
            self = .data(Array(data))
        case (.uuid, .string(let text)):
            guard let uuid = UUID(uuidString: text) else { return nil }
            self = .uuid(uuid)
        case (.decimal, .string(let text)):
            guard text[...].isDecimalNumber, let value = Decimal(string: text), value.isFinite
            else {
                return nil
            }
            self = .decimal(value)
        case (.decimal, .int(let value)): self = .decimal(Decimal(value))
        default: return nil
        }
    }

    /// The value as JSON: dates as seconds, content outside the row as
    /// `{"blob": SHA-256, "bytes": LENGTH}`.
    ///
    /// JSON has no infinite numbers: they are written as the strings `Infinity` and `-Infinity`,
    /// and accepted in that form. NaN is written as `NaN`, which no attribute accepts. References
    /// have to be written by the caller, because their form requires the model.
    package var json: JSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .double(let value): value.json
        case .decimal(let value): .string(value.description)
        case .string(let value): .string(value)
        case .date(let value): value.json
        case .data(let value): .string(Data(value).base64EncodedString())
        case .blob(let value): value.json
        case .longText(let value): value.blob.json
        case .uuid(let value): .string(value.uuidString)
        case .url(let value): .string(value)
        case .reference(let value): .int(Int64(truncatingIfNeeded: value.number))
        }
    }

    /// The JSON form in a model, in which whole doubles and dates are integers.
    var modelJSON: JSON {
        if case .double(let value) = json, let int = Int64(exactly: value) { return .int(int) }
        return json
    }
}

extension BlobReference {
    fileprivate var json: JSON {
        .object(["blob": .string(description), "bytes": .int(Int64(length))])
    }
}

extension Double {
    /// Creates the infinite number with this name; returns nil for any other text.
    fileprivate init?(infinity text: String) {
        switch text {
        case "Infinity": self = .infinity
        case "-Infinity": self = -.infinity
        default: return nil
        }
    }

    /// The number as JSON, or its name if JSON can't represent the number.
    fileprivate var json: JSON {
        if isFinite { return .double(self) }
        return .string(isNaN ? "NaN" : self < 0 ? "-Infinity" : "Infinity")
    }
}

/// ISO 8601 dates with a zone.
enum ISODate {
    /// Returns seconds since 1970, or nil if the text is not a date with a zone.
    static func seconds(_ text: String) -> Double? {
        let plain = Date.ISO8601FormatStyle()
        if let date = try? plain.parse(text) { return date.timeIntervalSince1970 }
        let fraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? fraction.parse(text))?.timeIntervalSince1970
    }
}

extension Substring {
    /// Whether the whole text is a number such as `-12.50` or `1e3`.
    ///
    /// The check is needed because `Decimal` accepts a text that only begins with a number, and
    /// `Double` accepts other notations, such as `0x10` and `inf`.
    package var isDecimalNumber: Bool {
        var rest = utf8
        func consumeDigits() -> Int {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            rest = rest.dropFirst(digits)
            return digits
        }
        func consume(_ characters: StaticString) -> Bool {
            let isNext = rest.first.map { first in
                characters.withUTF8Buffer { $0.contains(first) }
            }
            if isNext == true { rest = rest.dropFirst() }
            return isNext == true
        }
        _ = consume("+-")
        let whole = consumeDigits()
        let fraction = consume(".") ? consumeDigits() : 0
        guard whole + fraction > 0 else { return false }
        if consume("eE") {
            _ = consume("+-")
            guard consumeDigits() > 0 else { return false }
        }
        return rest.isEmpty
    }
}
