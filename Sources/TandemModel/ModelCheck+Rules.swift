/// Validation rules that older versions did not enforce.
///
/// Only newly declared models are checked, because stores may contain models that violate these
/// rules.
extension ModelCheck {
    static func contradictions(in model: ManagedObjectModel) -> [ModelProblem] {
        var problems: [ModelProblem] = []
        let hints = model.entities.values.map { ($0.name, $0.renamedFrom) }
        for (name, other) in doubled(hints) {
            problems.append(
                ModelProblem(entity: name, "\(other) has the same former name"))
        }
        for entity in model.entities.values.sorted(by: { $0.name < $1.name }) {
            let hints =
                entity.attributes.values.map { ($0.name, $0.renamedFrom) }
                + entity.relationships.values.map { ($0.name, $0.renamedFrom) }
            problems += doubled(hints).map { name, other in
                ModelProblem(
                    entity: entity.name, property: name,
                    "\(other) has the same former name")
            }
            for attribute in entity.attributes.values.sorted(by: { $0.name < $1.name }) {
                guard let message = contradiction(in: attribute) else { continue }
                problems.append(
                    ModelProblem(entity: entity.name, property: attribute.name, message))
            }
        }
        return problems
    }

    /// Returns each name with the same rename hint as an earlier name, and that earlier name.
    private static func doubled(_ hints: [(String, String?)]) -> [(String, String)] {
        var first: [String: String] = [:]
        var found: [(String, String)] = []
        for case (let name, let hint?) in hints.sorted(by: { $0.0 < $1.0 }) {
            if let other = first[hint] { found.append((name, other)) } else { first[hint] = name }
        }
        return found
    }

    /// Returns a contradiction between an attribute's rules and its type, default value or allowed
    /// values.
    private static func contradiction(in attribute: Attribute) -> String? {
        if attribute.minimum != nil || attribute.maximum != nil,
            [.bool, .uuid].contains(attribute.type)
        {
            return "`min` and `max` apply to numbers, dates, texts and data only"
        }
        let property = CompiledProperty(
            slot: 0, name: attribute.name, kind: .attribute(attribute))
        func problem(_ value: PropertyValue) -> String? {
            value.isNull ? nil : property.problem(with: value) { _ in nil }
        }
        if let message = problem(attribute.defaultValue) {
            return "the default \(attribute.defaultValue.json.text) cannot be saved: \(message)"
        }
        for value in attribute.allowedValues ?? [] {
            guard let message = problem(value) else { continue }
            return "the allowed value \(value.json.text) cannot be saved: \(message)"
        }
        return nil
    }
}
