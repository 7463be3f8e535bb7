import Tandem

extension LogFilter {
    /// Throws `unknownEntity` or `unknownProperty` for a name that the newest model does not have.
    ///
    /// Without this check, a misspelt name would only produce an empty result. The error lists the
    /// known names.
    func check(_ model: CompiledModel) throws {
        let matched = (matches?.all(.object) ?? []).compactMap { ObjectID($0)?.entity }
        let named = entities + objects.map(\.entity) + properties.compactMap(\.entity)
        for name in named + (matched + (matches?.all(.entity) ?? [])).sorted() {
            guard model.entity(named: name) == nil else { continue }
            throw model.unknownEntity(name)
        }
        for property in properties { try check(property, model) }
        for name in (matches?.all(.property) ?? []).sorted() {
            try check(PropertyName(whole: name), model)
        }
    }

    private func check(_ property: PropertyName, _ model: CompiledModel) throws {
        try checkOwner(of: property, model)
        let owners = model.entities.filter { entity in
            guard let name = property.entity else { return isWanted(entity, model) }
            return name == entity.name
        }
        guard owners.allSatisfy({ $0.slot(of: property.name) == nil }) else { return }
        let known = Set(owners.flatMap(\.properties).map(\.name)).sorted()
        let named = property.entity.map { [$0] } ?? entities
        let owner = named.isEmpty ? "the model" : named.joined(separator: " or ")
        throw TandemError.unknownProperty(property.name, of: owner, known: known)
    }

    /// Throws if the filter excludes the property's entity.
    private func checkOwner(of property: PropertyName, _ model: CompiledModel) throws {
        guard let name = property.entity, let owner = model.entity(named: name) else { return }
        let isWanted = owner.descendants.compactMap { model.entity(tagged: $0) }
            .contains { self.isWanted($0, model) }
        guard !isWanted else { return }
        throw TandemError(
            .unknownProperty,
            "\(name).\(property.name) does not belong to the chosen entities: "
                + entities.joined(separator: ", "))
    }

    /// Returns whether the filter includes changes to objects of an entity.
    private func isWanted(_ entity: CompiledEntity, _ model: CompiledModel) -> Bool {
        entities.isEmpty
            || entities.contains { model.entity(named: $0)?.includes(entity.tag) ?? false }
    }
}
