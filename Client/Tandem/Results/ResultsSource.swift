/// Where a list gets its elements from: the store, or literal values for previews and tests.
///
///     teams.source = .store(container.viewContext)
///     teams.source = .values([TeamRow(name: "Cameroon"), TeamRow(name: "Chile")])
public enum ResultsSource<Element> {
    /// From nowhere yet: the list is empty.
    case none
    /// From the store, followed by a context.
    case store(ManagedObjectContext)
    /// From these values, in this order; condition, order and limit of the request play no part.
    case values([Element])
}
