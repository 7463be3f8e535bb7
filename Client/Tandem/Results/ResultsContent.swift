import TandemResults

/// The content of a list of elements.
enum ResultsContent<SectionIdentifier: Hashable, Element> {
    case empty
    case store(FetchedResultsController)
    case values([Element], [(id: SectionIdentifier, range: Range<Int>)])
}

/// An observer of a controller's list that receives every change before the delegate does.
protocol ResultsObserver: AnyObject {
    /// Whether the list from before the next change must be kept.
    var needsOldList: Bool { get }
    /// Records a change, silent ones included, without notifying its own observers.
    func note(_ change: ControllerChange, from old: SectionedList?)
    /// Records that the list has failed or recovered.
    func noteFailure()
    /// Notifies the observers of the recorded changes.
    func deliver()
}
