import FoundationEssentials
import TandemModel

// `debugDescription`, because `description` is a frequent name of an attribute.
extension ManagedObject: CustomDebugStringConvertible {
    /// The id and the values that the context holds, as `print` shows them.
    ///
    ///     Team/33 (name: "Cameroon", wins: 3, zone: null)
    ///     Team/34 (not loaded)
    ///
    /// Nothing is loaded, and the read is not observed. Unsaved edits are shown; to-many
    /// relationships are not. Texts are cut after 60 characters.
    public var debugDescription: String {
        let record = record
        if record.isDeleted { return "\(id) (deleted)" }
        let shown = record.entity.properties.compactMap { property -> String? in
            guard !property.isToMany, let value = record.value(property.slot) else { return nil }
            return "\(property.name): \(text(of: value))"
        }
        return "\(id) (\(shown.isEmpty ? "not loaded" : shown.joined(separator: ", ")))"
    }

    private func text(of value: Value) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .double(let value): "\(value)"
        case .decimal(let value): "\(value)"
        case .string(let value):
            "\"\(value.prefix(60))\(value.count > 60 ? "…" : "")\""
        case .date(let seconds):
            Date(timeIntervalSince1970: seconds).formatted(.iso8601)
        case .data(let bytes): "\(bytes.count) bytes"
        case .blob(let blob): "\(blob.length) bytes"
        case .longText(let text): "text of \(text.blob.length) bytes"
        case .uuid(let value): value.uuidString
        case .url(let value): value
        case .reference(let target):
            managedObjectContext?.session?.model.id(of: target).description ?? "#\(target.number)"
        }
    }
}
