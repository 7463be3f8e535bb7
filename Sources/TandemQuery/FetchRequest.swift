/// What to fetch: the objects of an entity that match a predicate, in an order.
///
/// Ties, and everything if there are no sort keys, are ordered by object number.
public struct FetchRequest: Hashable, Sendable {
    /// The entity's name.
    public var entity: String
    /// The condition; nil matches everything.
    public var predicate: ObjectPredicate?
    /// The order.
    public var sort: [SortKey]
    /// At most this many; nil for all.
    ///
    /// A results controller with a limit or an offset takes O(limit + offset) for every merge that changes its list.
    public var limit: Int?
    /// How many of the first to leave out.
    public var offset: Int
    /// Whether objects of entities that inherit from ``entity`` count.
    public var includesSubentities: Bool

    /// A request for objects of an entity.
    public init(
        entity: String, predicate: ObjectPredicate? = nil, sort: [SortKey] = [],
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
