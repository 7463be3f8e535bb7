import Tandem
import TandemJournal

extension IndexQuery {
    /// The query for model installations.
    static let ofModels = IndexQuery(keys: [.group(0)])
}

extension LogFilter {
    /// Returns the query for the indexes of segments, or nil if the query would select every
    /// transaction.
    ///
    /// `models` must contain every model that a transaction may have, so that a deleted entity is
    /// found by its former name. ``filtered(_:_:)`` returns nil for every transaction that the
    /// query excludes.
    func query(_ models: [CompiledModel]) -> IndexQuery? {
        let first = since ?? .min
        let last = until.map { $0 == .min ? $0 : $0 - 1 } ?? .max
        let query = IndexQuery(
            keys: keys(models), always: [.group(0)], stamps: min(first, last)...last)
        return query.isSelective ? query : nil
    }

    /// Returns the keys of the most selective criterion.
    private func keys(_ models: [CompiledModel]) -> [IndexKey]? {
        let numbers = objects.isEmpty ? matchedNumbers : objects.map(\.number)
        if let numbers, !numbers.isEmpty { return numbers.map { .member($0) } }
        let names = entities.isEmpty ? Array(matches?.only(.entity) ?? []) : entities
        if !names.isEmpty { return Self.keys(Self.tags(names, models)) }
        guard !properties.isEmpty else { return nil }
        return Self.keys(Set(properties.flatMap { Self.tags($0, models) }))
    }

    /// The numbers of the objects named by matches; nil if there are none, or if a match has no
    /// valid id.
    private var matchedNumbers: [ObjectNumber]? {
        guard let matched = matches?.only(.object) else { return nil }
        let ids = matched.compactMap { ObjectID($0) }
        return ids.count == matched.count ? ids.map(\.number) : nil
    }

    /// Returns the tags of the named entities and their subentities, in any of the models.
    private static func tags(_ names: [String], _ models: [CompiledModel]) -> Set<EntityTag> {
        Set(
            models.flatMap { model in
                names.flatMap { model.entity(named: $0)?.descendants ?? [] }
            })
    }

    /// Returns the tags of the entities that have a property, in any of the models.
    private static func tags(
        _ property: PropertyName, _ models: [CompiledModel]
    ) -> Set<EntityTag> {
        if let entity = property.entity { return tags([entity], models) }
        return Set(
            models.flatMap { model in
                model.entities.filter { $0.slot(of: property.name) != nil }.map(\.tag)
            })
    }

    private static func keys(_ tags: Set<EntityTag>) -> [IndexKey] {
        tags.sorted().map { .group($0) }
    }
}
