public import TandemModel
public import TandemResults

/// A delegate that is notified of every change of a results controller's list.
///
/// All methods are optional; the defaults do nothing. For one change the methods are called in this
/// order: will change, row deletions, section deletions, section insertions, row insertions, moves,
/// updates, did change, the whole change as one value. If a list recovers without a difference,
/// only will change, did change and an empty value are delivered.
///
/// Index paths follow the rules of table batch updates. Deletions, updates and the sources of moves
/// refer to the list before the change. Insertions and the targets of moves refer to the list after
/// it. During the calls, the controller already shows the new list. Apply a change as one batch,
/// because its index paths are not valid for a list that is updated one call at a time.
///
/// The methods are called synchronously by the operation that causes a merge, after all controllers
/// of the context have been updated. Reading a property whose values must be loaded can cause a
/// merge, too. The delegate may read, edit and save the context with blocking calls, even while it
/// is notified of the context's own save. There is one exception: while a save with inserted
/// objects and a save id set by the caller awaits its answer, another save throws `usage`.
///
/// In the declaration of a class bound to the main actor, write `@MainActor` before the protocol's
/// name:
///
///     @MainActor final class TeamView: @MainActor FetchedResultsControllerDelegate {
///         func controllerDidChangeContent(_ controller: FetchedResultsController<Team>) { … }
///     }
public protocol FetchedResultsControllerDelegate<Object>: AnyObject {
    /// The class of the listed objects.
    associatedtype Object: ManagedObject

    /// Called before the calls that report a change.
    func controllerWillChangeContent(_ controller: FetchedResultsController<Object>)
    /// Called when a section was inserted or deleted.
    func controller(
        _ controller: FetchedResultsController<Object>,
        didChangeSection section: ResultsChange.SectionChange)
    /// Called when an object was inserted, deleted, moved or updated.
    func controller(
        _ controller: FetchedResultsController<Object>,
        didChangeObject object: ResultsChange.ObjectChange,
        id: ObjectID)
    /// Called after the calls that report a change.
    func controllerDidChangeContent(_ controller: FetchedResultsController<Object>)
    /// Called with the whole change as one value.
    func controller(
        _ controller: FetchedResultsController<Object>, didChange change: ControllerChange)
    /// Returns the index title of a section, or nil for the upper-cased first character of its
    /// name.
    func controller(
        _ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName name: String
    ) -> String?
    /// Called when the list can't be shown.
    ///
    /// The next change, which may be empty, reports the recovery
    /// (``FetchedResultsController/error``).
    func controller(_ controller: FetchedResultsController<Object>, didFailWith error: TandemError)
}

extension FetchedResultsControllerDelegate {
    /// Does nothing.
    public func controllerWillChangeContent(_ controller: FetchedResultsController<Object>) {}
    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController<Object>,
        didChangeSection section: ResultsChange.SectionChange
    ) {}
    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController<Object>,
        didChangeObject object: ResultsChange.ObjectChange,
        id: ObjectID
    ) {}
    /// Does nothing.
    public func controllerDidChangeContent(_ controller: FetchedResultsController<Object>) {}
    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController<Object>, didChange change: ControllerChange
    ) {}
    /// Returns nil.
    public func controller(
        _ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName name: String
    ) -> String? { nil }
    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController<Object>, didFailWith error: TandemError
    ) {
    }
}
