#if Macros
public import TandemModel

/// Declares the entity of a ``ManagedObject`` subclass from its stored properties.
///
///     @Model
///     final class Team: ManagedObject {
///         #Index<Team>([\.zone, \.wins])
///         @Attribute(.unique) var name: String
///         var zone: String = "Europe"
///         var wins: Int = 0
///         @Relationship(inverse: \.team, deleteRule: .cascade) var players: Set<Player>
///     }
///
/// Adds ``Managed`` to the properties, the static property `entity`, and the conformance to
/// ``ManagedEntity``. <doc:Macros> shows the expansion.
/// - Parameters:
///   - name: The name of the entity; by default, the name of the class.
///   - parent: The superclass if it is a model class; nil if the superclass has no entity.
///   - renamedFrom: The name of the entity in an earlier model.
@attached(member, names: named(entity), named(checkInverses))
@attached(memberAttribute)
@attached(extension, conformances: ManagedEntity)
public macro Model(
    _ name: String? = nil, parent: (any ManagedEntity.Type)? = nil, renamedFrom: String? = nil
) = #externalMacro(module: "TandemMacroPlugin", type: "ModelMacro")

/// Sets options of an attribute in a class with ``Model(_:parent:renamedFrom:)``.
///
///     @Attribute(.unique) var name: String
///     @Attribute(min: 0, max: 7) var wins: Int = 0
///     @Attribute(derived: .count("players")) var playerCount: Int
///
/// A property needs no macro if it has no options. All other parameters are the same as for
/// `TandemModel.Attribute`.
@attached(peer)
public macro Attribute(
    _ options: AttributeOption..., values: [PropertyValue]? = nil, min: NumberLimit? = nil,
    max: NumberLimit? = nil, pattern: String? = nil, derived: Derivation? = nil,
    renamedFrom: String? = nil
) = #externalMacro(module: "TandemMacroPlugin", type: "PropertyMacro")

/// Sets the options of an attribute, and its name if it differs from the name of the Swift
/// property.
///
///     @Attribute("zone_name", .indexed, renamedFrom: "region") var zone: String
@attached(peer)
public macro Attribute(
    _ name: String, _ options: AttributeOption..., values: [PropertyValue]? = nil,
    min: NumberLimit? = nil, max: NumberLimit? = nil, pattern: String? = nil,
    derived: Derivation? = nil, renamedFrom: String? = nil
) = #externalMacro(module: "TandemMacroPlugin", type: "PropertyMacro")

/// Declares a relationship in a class with ``Model(_:parent:renamedFrom:)``.
///
///     @Relationship(inverse: \.team, deleteRule: .cascade) var players: Set<Player>
///     @Relationship(inverse: \.members, min: 1) var order: [Player]   // an ordered relationship
///     @Relationship(inverse: \.players) var team: Team?
///
/// The relationship has the name of its Swift property. The inverse is required, and begins with
/// `\.`: the compiler can't resolve macros whose key paths refer to each other, such as
/// `\Player.team` and `\Team.players`.
/// - Parameters:
///   - entity: The name of the other entity; by default, the name of its class.
///   - inverse: The inverse relationship.
///   - deleteRule: The effect of this object's deletion on the objects at the other end.
///   - optional: Whether the relationship may be empty.
///   - min: The minimum number of members.
///   - max: The maximum number of members.
///   - renamedFrom: The name of the relationship in an earlier model.
@attached(peer)
public macro Relationship(
    to entity: String? = nil, inverse: KeyPath<InverseName, InverseName>? = nil,
    deleteRule: DeleteRule = .nullify, optional: Bool = true, min: Int? = nil, max: Int? = nil,
    renamedFrom: String? = nil
) = #externalMacro(module: "TandemMacroPlugin", type: "PropertyMacro")

/// Leaves a stored property out of the entity of a class with ``Model(_:parent:renamedFrom:)``.
///
///     @Transient var isExpanded = false
@attached(peer)
public macro Transient() = #externalMacro(module: "TandemMacroPlugin", type: "PropertyMacro")

/// Declares indexes of an entity, each over one or more properties.
///
///     #Index<Team>([\.zone, \.wins], [\.founded])
///
/// The macro does not know the stored names of inherited properties. If a stored name differs from
/// the Swift name, declare the list in the class that declares the property.
@freestanding(declaration)
public macro Index<Root: ManagedObject>(_ properties: [PartialKeyPath<Root>]...) =
    #externalMacro(module: "TandemMacroPlugin", type: "PropertyListMacro")

/// Declares lists of properties whose combined values are unique in an entity.
///
///     #Unique<Team>([\.name, \.zone])
///
/// The macro does not know the stored names of inherited properties. If a stored name differs from
/// the Swift name, declare the list in the class that declares the property.
@freestanding(declaration)
public macro Unique<Root: ManagedObject>(_ properties: [PartialKeyPath<Root>]...) =
    #externalMacro(module: "TandemMacroPlugin", type: "PropertyListMacro")
#endif
