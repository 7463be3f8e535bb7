public import TandemModel

/// The ids of a list, for views that compute differences themselves.
public struct FetchedResultsSnapshot: Hashable, Sendable {
    /// The sections in order.
    public var sections: [FetchedResultsSection]
    /// The objects that were already in the list and have changed, including moved objects.
    public var reloaded: [ObjectID]
    /// Whether this is the first list, which a view need not animate.
    public var isFirstLoad: Bool

    /// Creates a snapshot of the given sections.
    package init(
        sections: [FetchedResultsSection], reloaded: [ObjectID] = [], isFirstLoad: Bool = false
    ) {
        self.sections = sections
        self.reloaded = reloaded
        self.isFirstLoad = isFirstLoad
    }
}

/// A delegate that receives the whole list after each change, including the first list and later
/// fetches.
///
/// Apart from failures, it receives no other notifications.
///
///     func controller(
///         _ controller: FetchedResultsController<Team>,
///         didChangeContentWith snapshot: FetchedResultsSnapshot
///     ) {
///         dataSource.apply(snapshot, animating: !snapshot.isFirstLoad)
///     }
public protocol FetchedResultsSnapshotDelegate<Object>: FetchedResultsControllerDelegate {
    // Declared again, so that the compiler infers it from this protocol's method.
    /// The class of the listed objects.
    associatedtype Object

    /// Called with the list as it is shown now; O(n) for each call.
    func controller(
        _ controller: FetchedResultsController<Object>,
        didChangeContentWith snapshot: FetchedResultsSnapshot)
}

/// A delegate that receives changes to a list without sections as a `CollectionDifference`.
///
/// Apart from failures, it receives no other notifications. If the list has sections, it is
/// notified like any other delegate.
public protocol FetchedResultsDifferenceDelegate<Object>: FetchedResultsControllerDelegate {
    // Declared again, so that the compiler infers it from this protocol's method.
    /// The class of the listed objects.
    associatedtype Object

    /// Called with the ids that were inserted, removed or moved, and with the ids updated in place,
    /// which a difference can't express.
    func controller(
        _ controller: FetchedResultsController<Object>,
        didChangeContentWith difference: CollectionDifference<ObjectID>, updated: [ObjectID])
}
