public import TandemModel

/// A key path on which a request depends, with slots instead of names.
///
/// All paths of predicate, sort order, section and refresh key paths are observed, including those
/// inside `ANY`, `SUBQUERY` and aggregates. A path that is used several times is listed once, with
/// all its uses.
public struct ObservedPath: Hashable, Sendable {
    /// The purposes of a path.
    public struct Usage: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Creates uses from their bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The path determines whether an object matches.
        public static let predicate = Usage(rawValue: 1)
        /// The path determines the order.
        public static let sort = Usage(rawValue: 2)
        /// The path determines the section.
        public static let section = Usage(rawValue: 4)
        /// A change of the path's values updates the row.
        public static let refresh = Usage(rawValue: 8)
    }

    /// The relationships in path order; none for an attribute of the object itself.
    public var hops: [ObservedHop]
    /// The attribute at the end; nil if the path ends in a relationship, whose members are then
    /// observed.
    public var final: ObservedProperty?
    /// The purposes of the path.
    public var usage: Usage

    /// Creates a path.
    public init(hops: [ObservedHop], final: ObservedProperty?, usage: Usage) {
        self.hops = hops
        self.final = final
        self.usage = usage
    }
}

/// One relationship of an ``ObservedPath``.
public struct ObservedHop: Hashable, Sendable {
    /// The declared entity before the hop; objects of its subentities occur too.
    public var owner: EntityTag
    /// The relationship.
    public var slot: Int
    /// Whether the relationship is to-many.
    public var isToMany: Bool
    /// The declared entity after the hop.
    public var destination: EntityTag

    /// Creates a hop over a relationship.
    public init(owner: EntityTag, slot: Int, isToMany: Bool, destination: EntityTag) {
        self.owner = owner
        self.slot = slot
        self.isToMany = isToMany
        self.destination = destination
    }
}

/// An attribute by slot.
public struct ObservedProperty: Hashable, Sendable {
    /// The declared entity.
    public var entity: EntityTag
    /// The attribute.
    public var slot: Int

    /// Creates an attribute of an entity.
    public init(entity: EntityTag, slot: Int) {
        self.entity = entity
        self.slot = slot
    }
}
