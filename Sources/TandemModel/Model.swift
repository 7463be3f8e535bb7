/// What an app stores: its entities with their attributes and relationships.
///
/// Write a model by hand in Swift, or read it from JSON (``init(json:)``). Every relationship names its
/// inverse. Creating a model checks nothing; ``CompiledModel`` does, and lists every problem.
///
///     let model = Model {
///         Entity("Bucket") {
///             Attribute("name", .string)
///             Relationship("contents", to: "Content", inverse: "bucket", toMany: true, deleteRule: .cascade)
///         }
///         Entity("Content", uniqueness: [["name"]], indexes: [["creationDate", "name"]]) {
///             Attribute("name", .string, optional: false)
///             Attribute("creationDate", .date)
///             Relationship("bucket", to: "Bucket", inverse: "contents")
///         }
///         Entity("ImageContent", parent: "Content") { Attribute("width", .int) }
///     }
public struct Model: Hashable, Sendable {
    /// The entities by name.
    public var entities: [String: Entity]
    /// The names that several entities were given, which ``CompiledModel`` refuses.
    private(set) var repeatedNames: Set<String> = []

    /// A model of the given entities, each with a name of its own.
    public init(entities: [Entity] = []) {
        self.entities = [:]
        for entity in entities where self.entities.updateValue(entity, forKey: entity.name) != nil {
            repeatedNames.insert(entity.name)
        }
    }

    /// A model declared with the builder.
    public init(@ModelBuilder<Entity> _ entities: () -> [Entity]) {
        self.init(entities: entities())
    }

    /// Stands for the whole model: equal models have equal hashes, in every process.
    public var hash: StableHash { StableHash(Array(json.text.utf8)) }
}

/// A kind of object: a name, perhaps a parent, attributes and relationships.
public struct Entity: Hashable, Sendable {
    /// The name, an identifier.
    public var name: String
    /// The entity whose properties this one inherits.
    public var parent: String?
    /// The entity's own attributes by name, without inherited ones.
    public var attributes: [String: Attribute] = [:]
    /// The entity's own relationships by name, without inherited ones.
    public var relationships: [String: Relationship] = [:]
    /// Lists of properties whose values together exist once, in this entity and its subentities.
    public var uniqueness: [[String]]
    /// Lists of properties over which an index is kept.
    public var indexes: [[String]]
    /// The name this entity had in an earlier model.
    public var renamedFrom: String?
    /// The names that several properties were given, which ``CompiledModel`` refuses.
    private(set) var repeatedNames: Set<String> = []

    /// An entity declared with the builder.
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
    /// The name this property had in an earlier model.
    var renamedFrom: String? { get }
}

/// A property that holds a value.
public struct Attribute: Property {
    /// The name, an identifier.
    public var name: String
    /// The type of its values.
    public var type: AttributeType
    /// Whether there may be no value.
    ///
    /// A non-optional attribute needs one at every save.
    public var optional: Bool
    /// The value of a new object.
    public var defaultValue: Value
    /// The only values allowed, if not nil.
    public var allowedValues: [Value]?
    /// The smallest value allowed; for texts and data the smallest length.
    public var minimum: NumberLimit?
    /// The largest value allowed; for texts and data the largest length.
    public var maximum: NumberLimit?
    /// A regular expression that the whole of a string or URL has to match, see ``TextPattern``.
    public var pattern: String?
    /// How the value follows from another property; nil for one that is set.
    public var derived: Derivation?
    /// The name this attribute had in an earlier model.
    public var renamedFrom: String?

    /// An attribute `name` of `type`; optional and without default unless said otherwise.
    public init(
        _ name: String, _ type: AttributeType, optional: Bool = true,
        default defaultValue: Value = .null,
        values: [Value]? = nil, min minimum: NumberLimit? = nil,
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

/// A property that leads to other objects; its inverse leads back.
public struct Relationship: Property {
    /// The name, an identifier.
    public var name: String
    /// The entity at the other end.
    public var destination: String
    /// The relationship of the destination that leads back.
    public var inverse: String
    /// Whether it leads to any number of objects.
    public var toMany: Bool
    /// Whether the order of a to-many relationship is kept.
    public var ordered: Bool
    /// What a deletion of this object does to those at the other end.
    public var deleteRule: DeleteRule
    /// Whether it may lead nowhere.
    public var optional: Bool
    /// The fewest members of a to-many relationship; an optional one may have none all the same.
    public var minimum: Int?
    /// The most members of a to-many relationship.
    public var maximum: Int?
    /// The name this relationship had in an earlier model.
    public var renamedFrom: String?

    /// A relationship `name` to `destination` whose way back is `inverse`.
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

/// What the deletion of an object does to the objects at the other end of a relationship.
public enum DeleteRule: String, Hashable, Sendable, CaseIterable {
    /// They stay and lose the link.
    case nullify
    /// They are deleted as well.
    case cascade
    /// The deletion is refused while there are any.
    case deny
    /// Nothing is done for them; the link goes all the same, as nothing may lead nowhere.
    case noAction
}

/// Collects the parts of a model as they are written.
@resultBuilder
public enum ModelBuilder<Element> {
    /// One part.
    public static func buildExpression(_ element: Element) -> [Element] { [element] }
    /// Several parts.
    public static func buildExpression(_ elements: [Element]) -> [Element] { elements }
    /// The parts of a block.
    public static func buildBlock(_ parts: [Element]...) -> [Element] { parts.flatMap { $0 } }
    /// The parts of an `if` without `else`.
    public static func buildOptional(_ part: [Element]?) -> [Element] { part ?? [] }
    /// The parts of an `if`.
    public static func buildEither(first: [Element]) -> [Element] { first }
    /// The parts of an `else`.
    public static func buildEither(second: [Element]) -> [Element] { second }
    /// The parts of a loop.
    public static func buildArray(_ parts: [[Element]]) -> [Element] { parts.flatMap { $0 } }
}
