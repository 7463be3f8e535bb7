/// The source of a list's elements: the store, or literal values for previews and tests.
///
///     teams.source = .store(container.viewContext)
///     teams.source = .values([TeamRow(name: "Cameroon"), TeamRow(name: "Chile")])
///     teams.source = .values(rows, sectionName: \.zone)
public enum ResultsSource<Element> {
    /// No source: the list is empty.
    case none
    /// The store; the list follows the merges of a context.
    case store(ManagedObjectContext)
    /// These values in this order; the request's predicate, order and limit are ignored.
    ///
    /// In a list with named sections, `sectionName` returns the section name of a value; a new
    /// section begins where the name differs from the name of the previous value. Without
    /// `sectionName`, the section names of objects are read through the section key path of the
    /// request. Other values fail with `usage` if the request has a section key path
    /// (``SectionedFetchResults/error``).
    case values([Element], sectionName: ((Element) -> String)? = nil)
}

/// The content of a list of elements.
enum ResultsContent<SectionIdentifier: Hashable, Element> {
    case empty
    case store(FetchedResultsController<ManagedObject>)
    case values([Element], [(id: SectionIdentifier, range: Range<Int>)])
}
