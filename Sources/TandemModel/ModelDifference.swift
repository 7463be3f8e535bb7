/// One difference between two models, and the effect of applying it.
///
/// Error messages, `tandem schema` and `tandem log` describe a difference with the same line of
/// text.
package struct ModelDifference: Hashable, Sendable, CustomStringConvertible {
    /// The aspect that differs; the raw value is the key in a model's JSON form, if there is one.
    package enum Aspect: String, Hashable, Sendable, CaseIterable {
        /// An entity or a property exists in only one of the models.
        case declaration
        /// An entity or a property was renamed, according to a hint.
        case name
        /// The parent of the entity.
        case parent
        /// An attribute's type.
        case type
        /// Whether the value may be null, or the relationship empty.
        case optional
        /// The default value.
        case defaultValue = "default"
        /// The allowed values.
        case values
        /// The minimum value, length or number of members.
        case minimum = "min"
        /// The maximum value, length or number of members.
        case maximum = "max"
        /// The pattern that a text has to match.
        case pattern
        /// The derivation from another property.
        case derived
        /// The entity at the other end.
        case destination = "to"
        /// The inverse relationship.
        case inverse
        /// Whether the relationship is to-many.
        case toMany
        /// Whether the relationship is ordered.
        case ordered
        /// The effect of a deletion on the objects at the other end.
        case deleteRule
        /// A uniqueness constraint.
        case uniqueness
        /// An index.
        case index
    }

    /// The effect of applying a difference.
    package enum Effect: String, Hashable, Sendable, CaseIterable {
        /// No effect: stored objects are unchanged, and other apps are not affected.
        case compatible
        /// Consent is required: stored objects are unchanged, but later saves are treated
        /// differently.
        case changesRules
        /// The stored objects have to be checked against a new rule.
        case needsCheck
        /// Stored values or objects are lost.
        case loses
        /// The difference can't be applied in one step.
        case impossible
    }

    /// The entity, by its new name.
    package var entity: String
    /// The property, if the difference concerns one.
    package var property: String?
    /// The aspect that differs.
    package var aspect: Aspect
    /// The old state; nil if there is none.
    package var from: String?
    /// The new state; nil if there is none.
    package var to: String?
    /// The effect of applying the difference.
    package var effect: Effect
    /// The reason in a few words.
    package var why: String

    /// Creates a difference of an entity or a property.
    package init(
        _ entity: String, _ property: String?, _ aspect: Aspect, from: String?, to: String?,
        _ effect: Effect, _ why: String
    ) {
        self.entity = entity
        self.property = property
        self.aspect = aspect
        self.from = from
        self.to = to
        self.effect = effect
        self.why = why
    }

    /// Whether the difference is applied without consent when an app declares the new model.
    package var isCompatible: Bool { effect == .compatible }

    /// The difference on one line, such as `Team.wins: max 10 → 20 (a relaxed rule)`.
    package var description: String {
        let place = property.map { "\(entity).\($0)" } ?? entity
        return "\(place): \(change) (\(why))"
    }

    private var change: String {
        switch (aspect, from, to) {
        case (.declaration, nil, let to?): "added, \(to)"
        case (.declaration, _, _): "dropped"
        case (.name, let from?, _): "renamed from \(from)"
        case (_, let from?, let to?): "\(aspect.rawValue) \(from) → \(to)"
        case (_, nil, let to?): "\(aspect.rawValue) none → \(to)"
        case (_, let from?, nil): "\(aspect.rawValue) \(from) → none"
        case (_, nil, nil): aspect.rawValue
        }
    }

    /// The difference as a JSON object: `entity`, `property`, `what`, `from`, `to`, `effect`,
    /// `why`.
    package var json: JSON {
        var members: [String: JSON] = [
            "entity": .string(entity), "what": .string(aspect.rawValue),
            "effect": .string(effect.rawValue), "why": .string(why),
        ]
        if let property { members["property"] = .string(property) }
        if let from { members["from"] = .string(from) }
        if let to { members["to"] = .string(to) }
        return .object(members)
    }
}

extension ManagedObjectModel {
    /// Returns all differences to `next`, sorted by name, after applying rename hints.
    ///
    /// A change of hints alone is not a difference.
    /// - Parameters:
    ///   - next: The later model.
    ///   - hasObjects: Returns whether the store has objects of the entity with this name in this
    ///     model, or of an entity that inherits from it.
    /// - Returns: The differences, renames first, the others by entity.
    /// - Throws: The error that `hasObjects` throws.
    package func differences<Failure: Error>(
        to next: ManagedObjectModel, hasObjects: (String) throws(Failure) -> Bool
    ) throws(Failure) -> [ModelDifference] {
        let renames = ModelRenames(from: self, to: next)
        let names = Dictionary(
            uniqueKeysWithValues: renames.entities.map { ($0.value, $0.key) })
        let base = renames.applied(to: self)
        var comparison = ModelComparison(base: base, next: next)
        for name in base.entities.keys.sorted() where try hasObjects(names[name] ?? name) {
            comparison.filled.insert(name)
        }
        return renames.differences + comparison.differences()
    }

    /// Returns all differences to `next`, for a store with objects of every entity.
    package func differences(to next: ManagedObjectModel) -> [ModelDifference] {
        differences(to: next, hasObjects: { _ in true })
    }
}
