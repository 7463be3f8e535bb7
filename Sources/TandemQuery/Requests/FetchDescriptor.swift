/// A request for the objects of an entity that match a predicate, in a given order.
///
/// Ties are broken by object number, which also determines the order if there are no sort keys.
public struct FetchDescriptor: Hashable, Sendable {
    /// The entity's name.
    public var entity: String
    /// The condition; nil matches everything.
    public var predicate: ObjectPredicate?
    /// The sort order.
    public var sort: [SortComponent]
    /// The maximum number of objects; nil for all.
    ///
    /// A results controller with a limit or an offset does O(limit + offset) work for every merge
    /// that changes its list.
    public var limit: Int?
    /// The number of objects to skip.
    public var offset: Int
    /// Whether objects of entities that inherit from ``entity`` are included.
    public var includesSubentities: Bool

    /// Creates a request.
    public init(
        entity: String, predicate: ObjectPredicate? = nil, sort: [SortComponent] = [],
        limit: Int? = nil, offset: Int = 0, includesSubentities: Bool = true
    ) {
        self.entity = entity
        self.predicate = predicate
        self.sort = sort
        self.limit = limit
        self.offset = offset
        self.includesSubentities = includesSubentities
    }
}
