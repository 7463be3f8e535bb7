import Tandem

/// Formats values as JSON; references are printed as object ids.
enum ValueText {
    static func json(_ value: PropertyValue, _ model: CompiledModel) -> JSON {
        if let reference = value.reference { return .string(model.id(of: reference).description) }
        return value.json
    }

    /// Returns a value as text for one line of the log; long values are cut.
    static func short(_ value: PropertyValue, _ model: CompiledModel) -> String {
        let text = json(value, model).text
        return text.count > 40 ? String(text.prefix(39)) + "…" : text
    }

    /// Appends the text of ``json(_:_:)``; for frequent types, no JSON value is created.
    static func write(_ value: PropertyValue, _ model: CompiledModel, into bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.put("null")
        case .bool(let value): bytes.put(value ? "true" : "false")
        case .int(let value): bytes.put(number: value)
        case .string(let value), .url(let value): JSON.write(value, into: &bytes)
        case .double(let value) where value.isFinite: bytes.put(JSON.number(value))
        case .date(let value): bytes.put(JSON.number(value))
        default: json(value, model).write(into: &bytes)
        }
    }
}
