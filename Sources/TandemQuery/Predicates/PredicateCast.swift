import FoundationEssentials
import TandemModel

/// Conversions of literals to types without a literal syntax: `CAST(1.5, "NSDate")`.
enum PredicateCast {
    /// Returns the value converted to the type with a name; nil if it can't be converted.
    static func expression(_ value: PropertyValue, _ name: String) -> QueryExpression? {
        var type = name.lowercased()
        if type.hasPrefix("ns") { type.removeFirst(2) }
        switch (type, value) {
        case ("date", _): return constant(value, .date)
        case ("decimal", _), ("decimalnumber", _): return constant(value, .decimal)
        case ("uuid", _): return constant(value, .uuid)
        case ("url", _): return constant(value, .url)
        case ("data", _): return constant(value, .data)
        case ("blob", .string(let text)):
            return Data(base64Encoded: text).flatMap { BlobReference(bytes: Array($0)) }
                .map { .constant(.blob($0)) }
        case ("longtext", .string(let text)):
            return Data(base64Encoded: text).flatMap { TextReference(bytes: Array($0)) }
                .map { .constant(.longText($0)) }
        case ("string", .string), ("number", .int), ("number", .double): return .constant(value)
        case ("double", .string(let text)), ("number", .string(let text)):
            return Double(text).map { .constant(.double($0)) }
        case ("object", .string(let text)): return ObjectID(text).map { .object($0) }
        case ("reference", .string(let text)):
            guard let id = ObjectID(text), let tag = EntityTag(id.entity) else { return nil }
            return .constant(.reference(ObjectReference(tag: tag, number: id.number)))
        default: return nil
        }
    }

    private static func constant(_ value: PropertyValue, _ type: AttributeType) -> QueryExpression?
    {
        value.coerced(to: type).map { .constant($0) }
    }
}

extension PropertyValue {
    /// Whether the value is an integer, a double or a decimal.
    var isNumber: Bool {
        switch self {
        case .int, .double, .decimal: true
        default: false
        }
    }

    /// Returns the value converted to another type; nil if that is impossible or would lose
    /// information.
    ///
    /// Texts are parsed.
    func coerced(to type: AttributeType) -> PropertyValue? {
        if self.type == type || isNull { return self }
        switch (self, type) {
        case (.string(let text), _): return PropertyValue(json: .string(text), type: type)
        case (.url(let text), .string): return .string(text)
        case (.int(let number), .date): return .date(Double(number))
        case (.double(let number), .date): return number.isFinite ? .date(number) : nil
        case (.decimal(let number), .date): return Double(number.description).map { .date($0) }
        case (.int(let number), .decimal): return .decimal(Decimal(number))
        case (.double(let number), .decimal):
            // The shortest text of the double is converted, so that `price == 0.1` compares with
            // the decimal 0.1.
            return Decimal(string: number.description).map { .decimal($0) }
        case (.int(0), .bool): return .bool(false)
        case (.int(1), .bool): return .bool(true)
        case (.int(let number), .double): return Double(exactly: number).map { .double($0) }
        case (.bool(let value), .int): return .int(value ? 1 : 0)
        default: return nil
        }
    }
}
