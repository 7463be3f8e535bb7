import TandemModel
public import TandemQuery

/// The predicate, order, sections and refresh key paths of a list, as one value.
///
/// A request is replaced as a whole, so a list never combines a new order with old sections.
///
///     var request = teams.request
///     request?.sort = ["group.name", "-wins"]
///     request?.sectionNameKeyPath = "group.name"
///     teams.request = request
///
/// Key paths are strings, because the elements of a list need not be objects of a class. ``Query``
/// accepts Swift key paths.
public struct ResultsRequest: Hashable, Sendable {
    /// The predicate; nil for every object of the entity.
    public var predicate: ObjectPredicate?
    /// The sort keys; a list needs at least one.
    public var sort: [SortKey<ManagedObject>]
    /// The key path of section names; nil for one section.
    ///
    /// The first sort key must have the same order.
    public var sectionNameKeyPath: String?
    /// The key paths through which rows show values of other objects.
    public var relationshipKeyPathsForRefreshing: [String]
    /// The maximum number of rows; nil for all.
    ///
    /// With a limit or an offset, every change to the list costs O(limit + offset).
    public var limit: Int?
    /// The number of rows to skip.
    public var offset: Int
    /// Whether objects of subentities are listed.
    public var includesSubentities = true
    /// Whether unsaved edits of the context are shown.
    public var includesPendingChanges: Bool
    /// The name under which the list is cached between runs of the program; nil for no cache
    /// (``FetchedResultsController/cacheName``).
    public var cacheName: String?
    /// The attributes to be summed (``FetchedResultsController/sumProperties``).
    public var sumProperties: [String] = []

    /// Creates a request.
    public init(
        predicate: ObjectPredicate? = nil, sort: [SortKey<ManagedObject>],
        sectionNameKeyPath: String? = nil,
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

    /// Returns the fetch request for an entity.
    func fetchRequest(of entity: String) -> FetchRequest<ManagedObject> {
        var request = FetchRequest(entity: entity, predicate: predicate, sort: sort)
        request.limit = limit
        request.offset = offset
        request.includesSubentities = includesSubentities
        return request
    }
}
