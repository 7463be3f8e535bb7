public import TandemModel
public import TandemResults

/// Hears of every change of a results controller's list.
///
/// Implement what you need; the rest does nothing. For one change the calls come in this order: will change, row deletes, section
/// deletes, section inserts, row inserts, moves, updates, did change, the whole value. Of a list that recovers as it was, only the brackets and
/// an empty value come. Indexes follow the rules of table
/// batch updates: deletes, updates and move sources count in the list before, inserts and move targets in the list
/// after. The controller shows the new list already. Take a change as one batch: the paths of its parts are not to be applied one by one.
///
/// Calls come synchronously from whatever merges, after all controllers of the context have stepped: reading a property whose values
/// have to be loaded is such a thing, too. They may read, edit and save the
/// context, blocking, also when what they hear of is its own save; not, though, while one that inserts under an id of the caller's
/// awaits its answer (`usage`).
public protocol FetchedResultsControllerDelegate: AnyObject {
    /// A change begins.
    func controllerWillChangeContent(_ controller: FetchedResultsController)
    /// A section came or went.
    func controller(
        _ controller: FetchedResultsController,
        didChangeSection section: ResultsChange.SectionChange)
    /// An object came, went, moved or changed.
    func controller(
        _ controller: FetchedResultsController, didChangeObject object: ResultsChange.ObjectChange,
        id: ObjectID)
    /// A change ends.
    func controllerDidChangeContent(_ controller: FetchedResultsController)
    /// The same change as one value.
    func controller(_ controller: FetchedResultsController, didChange change: ControllerChange)
    /// The title of a section in the index; nil for the upper-cased first character of its name.
    func controller(
        _ controller: FetchedResultsController, sectionIndexTitleForSectionName name: String
    ) -> String?
    /// The list can't be shown, and why; the next change, which may be empty, says that it has recovered (``FetchedResultsController/error``).
    func controller(_ controller: FetchedResultsController, didFailWith error: TandemError)
}

extension FetchedResultsControllerDelegate {
    /// Does nothing.
    public func controllerWillChangeContent(_ controller: FetchedResultsController) {}
    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController,
        didChangeSection section: ResultsChange.SectionChange
    ) {}
    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController, didChangeObject object: ResultsChange.ObjectChange,
        id: ObjectID
    ) {}
    /// Does nothing.
    public func controllerDidChangeContent(_ controller: FetchedResultsController) {}
    /// Does nothing.
    public func controller(
        _ controller: FetchedResultsController, didChange change: ControllerChange
    ) {}
    /// Nil.
    public func controller(
        _ controller: FetchedResultsController, sectionIndexTitleForSectionName name: String
    ) -> String? { nil }
    /// Does nothing.
    public func controller(_ controller: FetchedResultsController, didFailWith error: TandemError) {
    }
}
