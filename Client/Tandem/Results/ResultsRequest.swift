public import TandemQuery

/// What a list shows of an entity: condition, order, sections and what refreshes its rows, as one value.
///
/// Being one value it is replaced in one step, so that there is never a list of the new order with the old sections.
///
///     var request = teams.request
///     request?.sort = ["group.name", "-wins"]
///     request?.sectionNameKeyPath = "group.name"
///     teams.request = request
public struct ResultsRequest: Hashable, Sendable {
    /// The condition; nil lists every object of the entity.
    public var predicate: ObjectPredicate?
    /// The order; a list needs at least one key.
    public var sort: [SortKey]
    /// The key path of section names; nil for one section.
    ///
    /// The first sort key has to be of the same order.
    public var sectionNameKeyPath: String?
    /// Key paths through which rows show values of other objects.
    public var relationshipKeyPathsForRefreshing: [String]
    /// At most so many rows; nil for all.
    ///
    /// With a limit or an offset every change of the list takes O(limit + offset).
    public var limit: Int?
    /// How many rows of the order are left out at its beginning.
    public var offset: Int
    /// Whether subentities are listed, too.
    public var includesSubentities = true
    /// Whether unsaved edits of the context are shown.
    public var includesPendingChanges: Bool
    /// The name under which the list is cached between runs of the program; nil for no cache (``FetchedResultsController/cacheName``).
    public var cacheName: String?
    /// The attributes whose sums the list keeps (``FetchedResultsController/sumProperties``).
    public var sumProperties: [String] = []

    /// A request of the given parts.
    public init(
        predicate: ObjectPredicate? = nil, sort: [SortKey], sectionNameKeyPath: String? = nil,
        relationshipKeyPathsForRefreshing: [String] = [], limit: Int? = nil, offset: Int = 0,
        includesPendingChanges: Bool = true
    ) {
        self.predicate = predicate
        self.sort = sort
        self.sectionNameKeyPath = sectionNameKeyPath
        self.relationshipKeyPathsForRefreshing = relationshipKeyPathsForRefreshing
        self.limit = limit
        self.offset = offset
        self.includesPendingChanges = includesPendingChanges
    }

    /// The fetch of it.
    func fetchRequest(of entity: String) -> FetchRequest {
        var request = FetchRequest(entity: entity, predicate: predicate, sort: sort)
        request.limit = limit
        request.offset = offset
        request.includesSubentities = includesSubentities
        return request
    }
}
