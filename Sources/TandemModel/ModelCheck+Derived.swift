/// Validation of derived attributes.
extension ModelCheck {
    /// Returns the problems of a derived attribute.
    ///
    /// `lineage` consists of the entity and its ancestors.
    static func check(derived attribute: Attribute, _ lineage: [Entity]) -> [String] {
        guard let derivation = attribute.derived else { return [] }
        let source = derivation.source
        var messages = check(rules: attribute)
        switch derivation {
        case .count:
            if attribute.type != .int { messages.append("a count must be of type int") }
            if !lineage.contains(where: { $0.relationships[source]?.toMany == true }) {
                messages.append(
                    "`\(derivation)` needs a to-many relationship, and `\(source)` is not one")
            }
        case .folded:
            if attribute.type != .string { messages.append("a folded text must be of type string") }
            guard let text = lineage.lazy.compactMap({ $0.attributes[source] }).first,
                text.type == .string, text.derived == nil
            else {
                messages.append(
                    "`\(derivation)` needs an attribute of type string that is not derived, and "
                        + "`\(source)` is not one")
                break
            }
            if text.optional, !attribute.optional {
                messages.append("the attribute must be optional, because `\(source)` is")
            }
        }
        return messages
    }

    private static func check(rules attribute: Attribute) -> [String] {
        let hasRules =
            attribute.allowedValues != nil || attribute.minimum != nil || attribute.maximum != nil
            || attribute.pattern != nil
        return hasRules || !attribute.defaultValue.isNull
            ? ["a derived attribute has no default and no rules; give them to its source"]
            : []
    }
}
