/// The schema of an app's objects: entities with their attributes and relationships.
///
/// Declare a model in Swift, or read it from JSON (``init(parsing:)``). Every relationship names
/// its inverse. A model is not validated when it is created but when it is compiled
/// (``CompiledModel``), which reports every problem.
///
///     let model = ManagedObjectModel {
///         Entity("Bucket") {
///             Attribute("name", .string)
///             Relationship(
///                 "contents", to: "Content", inverse: "bucket", toMany: true,
///                 deleteRule: .cascade)
///         }
///         Entity("Content", uniqueness: [["name"]], indexes: [["creationDate", "name"]]) {
///             Attribute("name", .string, optional: false)
///             Attribute("creationDate", .date)
///             Relationship("bucket", to: "Bucket", inverse: "contents")
///         }
///         Entity("ImageContent", parent: "Content") { Attribute("width", .int) }
///     }
public struct ManagedObjectModel: Hashable, Sendable {
    /// The entities by name.
    public var entities: [String: Entity]
    /// The names declared more than once, which ``CompiledModel`` rejects.
    private(set) var repeatedNames: Set<String> = []

    /// Creates a model from entities with distinct names.
    public init(entities: [Entity] = []) {
        self.entities = [:]
        for entity in entities where self.entities.updateValue(entity, forKey: entity.name) != nil {
            repeatedNames.insert(entity.name)
        }
    }

    /// Creates a model with the builder.
    public init(@ModelBuilder<Entity> _ entities: () -> [Entity]) {
        self.init(entities: entities())
    }

    /// The hash of the whole model; equal models have equal hashes in every process.
    package var hash: StableHash { StableHash(Array(json.text.utf8)) }
}

/// A kind of object: a name, an optional parent, attributes and relationships.
public struct Entity: Hashable, Sendable {
    /// The name, an identifier.
    public var name: String
    /// The entity from which this entity inherits.
    public var parent: String?
    /// The entity's own attributes by name, without inherited attributes.
    public var attributes: [String: Attribute] = [:]
    /// The entity's own relationships by name, without inherited relationships.
    public var relationships: [String: Relationship] = [:]
    /// Lists of properties whose combined values are unique in this entity and its subentities.
    package var uniqueness: [[String]]
    /// Lists of properties that are indexed together.
    package var indexes: [[String]]
    /// The name this entity had in an earlier model.
    package var renamedFrom: String?
    /// The property names declared more than once, which ``CompiledModel`` rejects.
    private(set) var repeatedNames: Set<String> = []

    /// Creates an entity with the builder.
    public init(
        _ name: String, parent: String? = nil, uniqueness: [[String]] = [],
        indexes: [[String]] = [], renamedFrom: String? = nil,
        @ModelBuilder<any Property> _ properties: () -> [any Property] = { [] }
    ) {
        self.name = name
        self.parent = parent
        self.uniqueness = uniqueness
        self.indexes = indexes
        self.renamedFrom = renamedFrom
        for property in properties() {
            if attributes[property.name] != nil || relationships[property.name] != nil {
                repeatedNames.insert(property.name)
            }
            if let attribute = property as? Attribute { attributes[attribute.name] = attribute }
            if let relationship = property as? Relationship {
                relationships[relationship.name] = relationship
            }
        }
    }
}

/// An attribute or a relationship.
public protocol Property: Hashable, Sendable {
    /// The name, an identifier.
    var name: String { get }
}

/// A property with a value.
public struct Attribute: Property {
    /// The name, an identifier.
    public var name: String
    /// The type of the values.
    public var type: AttributeType
    /// Whether the value may be null.
    ///
    /// A non-optional attribute requires a value at every save.
    public var optional: Bool
    /// The value of a new object.
    public var defaultValue: PropertyValue
    /// The only allowed values; nil allows all.
    package var allowedValues: [PropertyValue]?
    /// The minimum value; for texts and data, the minimum length.
    package var minimum: NumberLimit?
    /// The maximum value; for texts and data, the maximum length.
    package var maximum: NumberLimit?
    /// A regular expression that the whole string or URL has to match; see ``TextPattern``.
    package var pattern: String?
    /// The derivation from another property; nil for an attribute that can be set.
    package var derived: Derivation?
    /// The name this attribute had in an earlier model.
    package var renamedFrom: String?

    /// Creates an attribute; by default it is optional and has no default value.
    public init(
        _ name: String, _ type: AttributeType, optional: Bool = true,
        default defaultValue: PropertyValue = .null,
        values: [PropertyValue]? = nil, min minimum: NumberLimit? = nil,
        max maximum: NumberLimit? = nil,
        pattern: String? = nil, derived: Derivation? = nil, renamedFrom: String? = nil
    ) {
        self.name = name
        self.type = type
        self.optional = optional
        self.defaultValue = defaultValue
        allowedValues = values
        self.minimum = minimum
        self.maximum = maximum
        self.pattern = pattern
        self.derived = derived
        self.renamedFrom = renamedFrom
    }
}

/// A property that refers to other objects and has an inverse relationship.
public struct Relationship: Property {
    /// The name, an identifier.
    public var name: String
    /// The entity at the other end.
    public var destination: String
    /// The inverse relationship in the destination.
    public var inverse: String
    /// Whether the relationship is to-many.
    public var toMany: Bool
    /// Whether a to-many relationship is ordered.
    public var ordered: Bool
    /// The effect of this object's deletion on the objects at the other end.
    public var deleteRule: DeleteRule
    /// Whether the relationship may be empty.
    package var optional: Bool
    /// The minimum number of members of a to-many relationship; an optional relationship may also
    /// be empty.
    package var minimum: Int?
    /// The maximum number of members of a to-many relationship.
    package var maximum: Int?
    /// The name this relationship had in an earlier model.
    package var renamedFrom: String?

    /// Creates a relationship to `destination` with the inverse `inverse`.
    public init(
        _ name: String, to destination: String, inverse: String, toMany: Bool = false,
        ordered: Bool = false, deleteRule: DeleteRule = .nullify, optional: Bool = true,
        min minimum: Int? = nil, max maximum: Int? = nil, renamedFrom: String? = nil
    ) {
        self.name = name
        self.destination = destination
        self.inverse = inverse
        self.toMany = toMany
        self.ordered = ordered
        self.deleteRule = deleteRule
        self.optional = optional
        self.minimum = minimum
        self.maximum = maximum
        self.renamedFrom = renamedFrom
    }
}

/// The effect of an object's deletion on the objects at the other end of a relationship.
public enum DeleteRule: String, Hashable, Sendable, CaseIterable {
    /// The other objects are kept, and their links to the deleted object are removed.
    case nullify
    /// The other objects are deleted as well.
    case cascade
    /// The deletion is rejected while the relationship is not empty.
    case deny
    /// The other objects are kept; their links to the deleted object are removed, because links
    /// can't dangle.
    case noAction
}

/// The result builder of models.
@resultBuilder
public enum ModelBuilder<Element> {
    /// Returns one element.
    public static func buildExpression(_ element: Element) -> [Element] { [element] }
    /// Returns several elements.
    public static func buildExpression(_ elements: [Element]) -> [Element] { elements }
    /// Returns the elements of a block.
    public static func buildBlock(_ parts: [Element]...) -> [Element] { parts.flatMap { $0 } }
    /// Returns the elements of an `if` without `else`.
    public static func buildOptional(_ part: [Element]?) -> [Element] { part ?? [] }
    /// Returns the elements of an `if`.
    public static func buildEither(first: [Element]) -> [Element] { first }
    /// Returns the elements of an `else`.
    public static func buildEither(second: [Element]) -> [Element] { second }
    /// Returns the elements of a loop.
    public static func buildArray(_ parts: [[Element]]) -> [Element] { parts.flatMap { $0 } }
}
