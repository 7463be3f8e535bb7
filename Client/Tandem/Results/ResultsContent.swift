import TandemResults

/// What a list of elements reads from.
enum ResultsContent<SectionIdentifier: Hashable, Element> {
    case empty
    case store(FetchedResultsController)
    case values([Element], [(id: SectionIdentifier, range: Range<Int>)])
}

/// Somebody who shows the list of a controller, and hears of every change before the delegates do.
protocol ResultsFollower: AnyObject {
    /// Whether the list before the next change has to be kept.
    var needsOldList: Bool { get }
    /// Takes note of a change, silent ones included; tells nobody.
    func note(_ change: ControllerChange, from old: SectionedList?)
    /// Takes note that the list has failed, or has recovered.
    func noteFailure()
    /// Tells those who observe it.
    func deliver()
}
