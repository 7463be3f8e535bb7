package import TandemModel

/// A key path on which a request depends, with slots instead of names.
///
/// All key paths of the predicate, the sort order, the sections and the refreshes are observed,
/// including those in `ANY`, `SUBQUERY` and aggregates. A path that is used several times is listed
/// once, with all its uses.
package struct ObservedPath: Hashable, Sendable {
    /// The purposes of a path.
    package struct Usage: OptionSet, Hashable, Sendable {
        /// The bits.
        package let rawValue: UInt8
        /// Creates uses from their bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The path is part of the predicate.
        package static let predicate = Usage(rawValue: 1)
        /// The path is part of the sort order.
        package static let sort = Usage(rawValue: 2)
        /// The path is the section key path.
        package static let section = Usage(rawValue: 4)
        /// A change of the path's values updates the row.
        package static let refresh = Usage(rawValue: 8)
    }

    /// The relationships in path order; empty for an attribute of the object itself.
    package var hops: [ObservedHop]
    /// The attribute at the end; nil if the path ends in a relationship, whose members are then
    /// observed.
    package var final: ObservedProperty?
    /// The purposes of the path.
    package var usage: Usage

    /// Creates a path.
    package init(hops: [ObservedHop], final: ObservedProperty?, usage: Usage) {
        self.hops = hops
        self.final = final
        self.usage = usage
    }
}

/// One relationship of an ``ObservedPath``.
package struct ObservedHop: Hashable, Sendable {
    /// The declared entity before the hop; the objects may also belong to its subentities.
    package var owner: EntityTag
    /// The relationship.
    package var slot: Int
    /// Whether the relationship is to-many.
    package var isToMany: Bool
    /// The declared entity after the hop.
    package var destination: EntityTag

    /// Creates a hop over a relationship.
    package init(owner: EntityTag, slot: Int, isToMany: Bool, destination: EntityTag) {
        self.owner = owner
        self.slot = slot
        self.isToMany = isToMany
        self.destination = destination
    }
}

/// An attribute by slot.
package struct ObservedProperty: Hashable, Sendable {
    /// The declared entity.
    package var entity: EntityTag
    /// The attribute.
    package var slot: Int

    /// Creates an attribute of an entity.
    package init(entity: EntityTag, slot: Int) {
        self.entity = entity
        self.slot = slot
    }
}
