import FoundationEssentials

extension PropertyValue: CustomStringConvertible {
    /// A readable form: `null`, `true`, `4`, a text without quotes, a date in ISO 8601 without
    /// fractions of a second, the length of data, `#7` for a reference.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .double(let value): "\(value)"
        case .decimal(let value): "\(value)"
        case .string(let text), .url(let text): text
        case .date(let seconds): Date(timeIntervalSince1970: seconds).formatted(.iso8601)
        case .data(let bytes): "\(bytes.count) bytes"
        case .blob(let blob): "\(blob.length) bytes"
        case .longText(let text): "text of \(text.blob.length) bytes"
        case .uuid(let value): value.uuidString
        case .reference(let target): "#\(target.number)"
        }
    }
}
