import TandemModel

/// The printed form of an object: its id and the values that its context has loaded.
struct ObjectDescription {
    let record: ObjectRecord
    /// The context's model, for the ids of related objects; nil without a context.
    let model: CompiledModel?

    /// The text, with attributes and to-one relationships by name; strings are truncated to 60
    /// characters.
    var text: String {
        if record.isDeleted { return "\(record.id) (deleted)" }
        let shown = record.entity.properties.compactMap { property -> String? in
            guard !property.isToMany, let value = record.value(property.slot) else { return nil }
            return "\(property.name): \(text(of: value))"
        }
        return "\(record.id) (\(shown.isEmpty ? "not loaded" : shown.joined(separator: ", ")))"
    }

    private func text(of value: PropertyValue) -> String {
        switch value {
        case .string(let value): "\"\(value.prefix(60))\(value.count > 60 ? "…" : "")\""
        case .reference(let target): model?.id(of: target).description ?? value.description
        default: value.description
        }
    }
}
