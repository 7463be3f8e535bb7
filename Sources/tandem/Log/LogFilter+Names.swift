import Tandem

extension LogFilter {
    /// Refuses names that the newest model has not, and says which it has.
    ///
    /// Throws `unknownEntity` and `unknownProperty`: a name that nothing has would find nothing, which looks like an answer.
    func check(_ model: CompiledModel) throws {
        let matched = (matches?.all(.object) ?? []).compactMap { ObjectID($0)?.entity }
        let named = entities + objects.map(\.entity) + properties.compactMap(\.entity)
        for name in named + (matched + (matches?.all(.entity) ?? [])).sorted() {
            guard model.entity(named: name) == nil else { continue }
            throw TandemError(
                .unknownEntity,
                "the store has no entity `\(name)`; there is "
                    + Self.list(model.entities.map(\.name), "none yet"))
        }
        for property in properties { try check(property, model) }
        for name in (matches?.all(.property) ?? []).sorted() {
            try check(PropertyName(whole: name), model)
        }
    }

    private func check(_ property: PropertyName, _ model: CompiledModel) throws {
        let owners = model.entities.filter { property.entity ?? $0.name == $0.name }
        guard owners.allSatisfy({ $0.slot(of: property.name) == nil }) else { return }
        let known = Set(owners.flatMap(\.properties).map(\.name)).sorted()
        throw TandemError(
            .unknownProperty,
            "\(property.entity ?? "no entity") has \(property.entity == nil ? "a" : "no") property "
                + "`\(property.name)`; there is \(Self.list(known, "none yet"))")
    }

    /// Names in a line; of many the first.
    static func list(_ names: [String], _ none: String) -> String {
        let most = 24
        let rest = names.count - most
        let shown = names.prefix(most).map(\.printable) + (rest > 0 ? ["\(rest) more"] : [])
        return shown.isEmpty ? none : shown.joined(separator: ", ")
    }
}
