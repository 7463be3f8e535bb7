import FoundationEssentials

extension Value: CustomStringConvertible {
    /// The value as people read it: `null`, `true`, `4`, a text without quotes, a date in the form
    /// of ISO 8601, the length of data, `#7` for a reference.
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
