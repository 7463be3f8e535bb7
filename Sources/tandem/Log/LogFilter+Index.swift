import Tandem
import TandemJournal

extension IndexQuestion {
    /// The installations of models.
    static let ofModels = IndexQuestion(keys: [.group(0)])
}

extension LogFilter {
    /// What the indexes of a directory's segments are asked; nil where a filter asks for nothing that they know.
    ///
    /// `models` are all that transactions may be of: an entity that is gone is found under the name of its time. Whatever is left
    /// out by the answer, ``part(of:_:)`` does not give.
    func question(_ models: [CompiledModel]) -> IndexQuestion? {
        let first = since ?? .min
        let last = until.map { $0 == .min ? $0 : $0 - 1 } ?? .max
        let question = IndexQuestion(
            keys: keys(models), always: [.group(0)], stamps: min(first, last)...last)
        return question.isSelective ? question : nil
    }

    /// The narrowest of what is asked for.
    private func keys(_ models: [CompiledModel]) -> [IndexKey]? {
        let numbers = objects.isEmpty ? matchedNumbers : objects.map(\.number)
        if let numbers, !numbers.isEmpty { return numbers.map { .member($0) } }
        let names = entities.isEmpty ? Array(matches?.only(.entity) ?? []) : entities
        if !names.isEmpty { return Self.keys(Self.tags(names, models)) }
        guard !properties.isEmpty else { return nil }
        return Self.keys(Set(properties.flatMap { Self.tags($0, models) }))
    }

    /// The numbers of the objects that a match asks for; nil where it asks for none, or for something that is none.
    private var matchedNumbers: [ObjectNumber]? {
        guard let matched = matches?.only(.object) else { return nil }
        let ids = matched.compactMap { ObjectID($0) }
        return ids.count == matched.count ? ids.map(\.number) : nil
    }

    /// The entities of some names and all that inherit from them, by any of the models.
    private static func tags(_ names: [String], _ models: [CompiledModel]) -> Set<EntityTag> {
        Set(
            models.flatMap { model in
                names.flatMap { model.entity(named: $0)?.descendants ?? [] }
            })
    }

    /// The entities that have a property, by any of the models.
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
