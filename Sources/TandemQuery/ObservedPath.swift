public import TandemModel

/// A key path that a request depends on, with slots for names.
///
/// There is one for every path in predicate (those inside `ANY`, `SUBQUERY` and aggregates included), sort order, section
/// and refresh paths; a path used several times appears once with all its uses.
public struct ObservedPath: Hashable, Sendable {
    /// What a path is used for.
    public struct Usage: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Uses of the given bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// It decides membership.
        public static let predicate = Usage(rawValue: 1)
        /// It decides the order.
        public static let sort = Usage(rawValue: 2)
        /// It names the section.
        public static let section = Usage(rawValue: 4)
        /// A change of what it reaches updates the row.
        public static let refresh = Usage(rawValue: 8)
    }

    /// The relationships in the order they are followed; none for an attribute of the object itself.
    public var hops: [ObservedHop]
    /// The attribute at the end; nil when the path ends in a relationship, whose members count then.
    public var final: ObservedProperty?
    /// What the path is used for.
    public var usage: Usage

    /// A path of the given parts.
    public init(hops: [ObservedHop], final: ObservedProperty?, usage: Usage) {
        self.hops = hops
        self.final = final
        self.usage = usage
    }
}

/// One relationship of an ``ObservedPath``.
public struct ObservedHop: Hashable, Sendable {
    /// The entity at which the path stands, as declared; objects of its subentities occur too.
    public var owner: EntityTag
    /// The relationship.
    public var slot: Int
    /// Whether it leads to any number of objects.
    public var isToMany: Bool
    /// The entity it leads to, as declared.
    public var destination: EntityTag

    /// A hop over a relationship.
    public init(owner: EntityTag, slot: Int, isToMany: Bool, destination: EntityTag) {
        self.owner = owner
        self.slot = slot
        self.isToMany = isToMany
        self.destination = destination
    }
}

/// An attribute by slot.
public struct ObservedProperty: Hashable, Sendable {
    /// The entity, as declared.
    public var entity: EntityTag
    /// The attribute.
    public var slot: Int

    /// An attribute of an entity.
    public init(entity: EntityTag, slot: Int) {
        self.entity = entity
        self.slot = slot
    }
}
