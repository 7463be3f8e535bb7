import Tandem

/// Values as JSON with object ids printed by name.
enum ValueText {
    static func json(_ value: Value, _ model: CompiledModel) -> JSON {
        if let reference = value.reference { return .string(model.id(of: reference).description) }
        return value.json
    }

    /// A short text for a line of the log; long values are cut.
    static func short(_ value: Value, _ model: CompiledModel) -> String {
        let text = json(value, model).text
        return text.count > 40 ? String(text.prefix(39)) + "…" : text
    }
}
