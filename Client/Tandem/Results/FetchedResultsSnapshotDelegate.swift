public import TandemModel

/// A list as ids, for views that work out differences themselves.
public struct FetchedResultsSnapshot: Hashable, Sendable {
    /// The sections in order.
    public var sections: [FetchedResultsSection]
    /// The objects that were there before and changed, moved ones included.
    public var reloaded: [ObjectID]
    /// Whether it is the first list, which a view need not animate.
    public var isFirstLoad: Bool

    /// A snapshot of the given sections.
    public init(
        sections: [FetchedResultsSection], reloaded: [ObjectID] = [], isFirstLoad: Bool = false
    ) {
        self.sections = sections
        self.reloaded = reloaded
        self.isFirstLoad = isFirstLoad
    }
}

/// A delegate that takes the whole list after each change, the first one and refetches included.
///
/// None of the other calls but failures come then.
///
///     func controller(_ controller: FetchedResultsController, didChangeContentWith snapshot: FetchedResultsSnapshot) {
///         dataSource.apply(snapshot, animating: !snapshot.isFirstLoad)
///     }
public protocol FetchedResultsSnapshotDelegate: FetchedResultsControllerDelegate {
    /// The list shows this now; cost O(n) each time.
    func controller(
        _ controller: FetchedResultsController,
        didChangeContentWith snapshot: FetchedResultsSnapshot)
}

/// A delegate that takes changes of a list without sections as the standard library's difference.
///
/// None of the other calls but failures come then. Of a list with sections it hears as any delegate.
public protocol FetchedResultsDifferenceDelegate: FetchedResultsControllerDelegate {
    /// The list changed: ids that came, went or moved, and those that were updated in their places, which a difference can't hold.
    func controller(
        _ controller: FetchedResultsController,
        didChangeContentWith difference: CollectionDifference<ObjectID>, updated: [ObjectID])
}
