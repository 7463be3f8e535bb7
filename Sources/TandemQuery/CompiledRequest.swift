public import TandemModel

/// A request resolved against a model: slots instead of names, values of the right types.
///
/// Immutable; compile once, evaluate for every row.
public struct CompiledRequest: Sendable {
    /// The request as it was written.
    public let request: FetchRequest
    /// The key path of section names.
    public let sectionKeyPath: String?
    /// The key paths whose values update a row.
    public let refreshKeyPaths: [String]
    /// The model.
    public let model: CompiledModel
    /// The entity fetched.
    public let entity: CompiledEntity
    /// Every key path that the request depends on.
    public let paths: [ObservedPath]
    /// What the top level of the predicate says of the object's own attributes and to-one relationships.
    public let constraints: [SlotConstraint]
    /// Whether the predicate looks beyond the object's own row.
    public let predicateUsesRelated: Bool
    /// Whether sort keys or sections look beyond the object's own row, through to-one relationships.
    public let keysUseRelated: Bool
    /// Whether any path leads through a to-many relationship.
    public let usesToMany: Bool

    /// Resolves a request.
    ///
    /// Throws ``TandemError`` with `unknownEntity`, `unknownProperty`, `invalidPredicate`, `usage` (sort, section and
    /// refresh paths that can't be used so), or `limitExceeded`.
    public init(
        _ request: FetchRequest, sectionKeyPath: String? = nil, refreshKeyPaths: [String] = [],
        in model: CompiledModel
    ) throws(TandemError) {
        throw TandemError(.usage, "not yet")
    }

    /// True when an object of an entity can be in the result.
    public func includes(tag: EntityTag) -> Bool { false }

    /// Whether an object matches; nil when that depends on something that the reader does not hold.
    public func matches<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> Bool? { nil }

    /// The encoded sort keys without the object's number; nil when the reader does not hold what they need.
    public func sortKey<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> [UInt8]? { nil }

    /// The name of the object's section.
    public func section<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> SectionName { .unknown }

    /// Bytes that are equal when the refresh key paths reach the same; nil when the reader does not hold them.
    public func refreshValues<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> [UInt8]? { nil }
}
