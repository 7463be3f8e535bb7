public import TandemModel
public import TandemResults

/// What all observers of a results controller have in common.
///
/// Conform to exactly what you want to hear: ``SnapshotResultsDelegate``, ``ChangeResultsDelegate`` or
/// ``ClassicResultsDelegate``. Of a delegate that is several of these only the first in this order is called.
/// Nothing is called when nothing changed.
public protocol FetchedResultsControllerDelegate: AnyObject {
    /// The list can't show the present state; it goes on showing the last good one.
    ///
    /// With `outOfOrderSection` one change follows when the order is right again.
    func controller(_ controller: FetchedResultsController, didFailWith error: TandemError)
}

extension FetchedResultsControllerDelegate {
    /// Does nothing; ``FetchedResultsController/error`` says it too.
    public func controller(
        _ controller: FetchedResultsController, didFailWith error: TandemError
    ) {}
}

/// An observer that is handed whole snapshots, also of every fetch.
public protocol SnapshotResultsDelegate: FetchedResultsControllerDelegate {
    /// The list is now this; `reloaded` names the objects that stayed and changed.
    func controller(
        _ controller: FetchedResultsController, didChangeContentWith snapshot: ResultsSnapshot)
}

/// An observer that is handed each change as one value.
public protocol ChangeResultsDelegate: FetchedResultsControllerDelegate {
    /// The list changed.
    func controller(
        _ controller: FetchedResultsController, didChange change: ResultsChange,
        at position: Position)
}

/// What happened to an object or a section.
public enum ResultsChangeType: String, Hashable, Sendable {
    /// It came.
    case insert
    /// It went.
    case delete
    /// It changed and stands elsewhere.
    case move
    /// It changed.
    case update
}

/// An observer with the callbacks of old: a bracket around one call for each section and object.
///
/// The order is: row deletes, section deletes, section inserts, row inserts, moves, updates. Paths of deletes, updates and the
/// sources of moves are those before the change, those of inserts and the targets of moves those after. The
/// bracket is one batch: applying deletes one by one by their paths removes the wrong rows.
public protocol ClassicResultsDelegate: FetchedResultsControllerDelegate {
    /// A change begins; the controller shows its outcome already.
    func controllerWillChangeContent(_ controller: FetchedResultsController)
    /// A section came (`insert`, index after) or went (`delete`, index before; it is empty).
    func controller(
        _ controller: FetchedResultsController, didChange section: FetchedResultsSection,
        atSectionIndex index: Int, for type: ResultsChangeType)
    /// An object came, went, moved or changed; an update carries both paths, as rows around it may come or go.
    func controller(
        _ controller: FetchedResultsController, didChange object: ManagedObject,
        at indexPath: ResultsIndexPath?, for type: ResultsChangeType,
        newIndexPath: ResultsIndexPath?)
    /// The change is told.
    func controllerDidChangeContent(_ controller: FetchedResultsController)
}

extension ClassicResultsDelegate {
    /// Does nothing.
    public func controllerWillChangeContent(_ controller: FetchedResultsController) {}

    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController, didChange section: FetchedResultsSection,
        atSectionIndex index: Int, for type: ResultsChangeType
    ) {}

    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController, didChange object: ManagedObject,
        at indexPath: ResultsIndexPath?, for type: ResultsChangeType,
        newIndexPath: ResultsIndexPath?
    ) {}

    /// Does nothing.
    public func controllerDidChangeContent(_ controller: FetchedResultsController) {}
}
