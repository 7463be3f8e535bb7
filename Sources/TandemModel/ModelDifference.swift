/// One thing in which a model differs from the one before it, and what it takes to change it.
///
/// The daemon decides by it, errors list it, `tandem schema` and `tandem log` print it: all the same line.
public struct ModelDifference: Hashable, Sendable, CustomStringConvertible {
    /// What differs; the raw values are the keys of a model's JSON form where it has one.
    public enum Aspect: String, Hashable, Sendable, CaseIterable {
        /// An entity or a property is there in one of them only.
        case declaration
        /// An entity or a property has another name, by a hint.
        case name
        /// The entity inherits from another one.
        case parent
        /// An attribute's type.
        case type
        /// Whether there may be no value, or no object at the other end.
        case optional
        /// The value of new objects.
        case defaultValue = "default"
        /// The allowed values.
        case values
        /// The smallest value, length or number of members.
        case minimum = "min"
        /// The largest value, length or number of members.
        case maximum = "max"
        /// What a text has to match.
        case pattern
        /// How the value follows from another property.
        case derived
        /// The entity at the other end.
        case destination = "to"
        /// The way back.
        case inverse
        /// Whether it leads to any number of objects.
        case toMany
        /// Whether the order of members is kept.
        case ordered
        /// What a deletion does to the other end.
        case deleteRule
        /// A uniqueness constraint.
        case uniqueness
        /// An index.
        case index
    }

    /// What it takes to change it.
    public enum Effect: String, Hashable, Sendable, CaseIterable {
        /// Nothing: what is stored stays as it is, and so does what other apps may do.
        case compatible
        /// Somebody's decision: what is stored stays, but what is saved from then on is treated otherwise.
        case changesRules
        /// What is stored has to keep a rule that it did not have to keep before.
        case needsCheck
        /// Something that is stored is lost.
        case loses
        /// It can't be done in one step.
        case impossible
    }

    /// The entity, by its name afterwards.
    public var entity: String
    /// The property, if the difference is in one.
    public var property: String?
    /// What differs.
    public var aspect: Aspect
    /// How it is in the first model; nil where there is nothing.
    public var from: String?
    /// How it is in the second; nil where there is nothing.
    public var to: String?
    /// What it takes.
    public var effect: Effect
    /// Why, in a few words.
    public var why: String

    /// A difference at a place.
    public init(
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

    /// Whether it takes effect by itself when an app brings it.
    public var isCompatible: Bool { effect == .compatible }

    /// `Team.wins: max 10 → 20 (a relaxed rule)`.
    public var description: String {
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

    /// As a JSON object: `entity`, `property`, `what`, `from`, `to`, `effect`, `why`.
    public var json: JSON {
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

extension Model {
    /// Everything in which `next` differs, renames by hint followed; in the order of names.
    ///
    /// What differs in hints alone is no difference.
    /// - Parameters:
    ///   - next: The model that is to follow.
    ///   - hasObjects: Whether the store has objects of an entity of this name in this model or of one that inherits from it.
    /// - Returns: The differences, renames first, the others by entity.
    /// - Throws: What `hasObjects` throws.
    public func differences<Failure: Error>(
        to next: Model, hasObjects: (String) throws(Failure) -> Bool
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

    /// Everything in which `next` differs, for a store with objects of every entity.
    public func differences(to next: Model) -> [ModelDifference] {
        differences(to: next, hasObjects: { _ in true })
    }
}
