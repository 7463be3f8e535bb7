/// A request for the objects of an entity that match a predicate, in a given order.
///
/// Objects with equal sort keys are ordered by number, as are all objects if there are no sort
/// keys.
@usableFromInline package struct FetchDescriptor: Hashable, Sendable {
    /// The entity's name.
    package var entity: String
    /// The condition; nil for all objects.
    package var predicate: ObjectPredicate?
    /// The sort order.
    package var sort: [SortComponent]
    /// The maximum number of objects; nil for all.
    ///
    /// A results controller with a limit or an offset does O(limit + offset) work for every merge
    /// that changes its list.
    package var limit: Int?
    /// The number of objects to skip.
    package var offset: Int
    /// Whether objects of entities that inherit from ``entity`` are included.
    @usableFromInline package var includesSubentities: Bool

    /// Creates a request.
    package init(
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
