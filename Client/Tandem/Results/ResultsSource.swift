/// Where a list gets its elements from: the store, or literal values for previews and tests.
///
///     teams.source = .store(container.viewContext)
///     teams.source = .values([TeamRow(name: "Cameroon"), TeamRow(name: "Chile")])
///     teams.source = .values(rows, sectionName: \.zone)
public enum ResultsSource<Element> {
    /// From nowhere yet: the list is empty.
    case none
    /// From the store, followed by a context.
    case store(ManagedObjectContext)
    /// From these values, in this order; condition, order and limit of the request play no part.
    ///
    /// A list with sections by name asks `sectionName` for that of each value, and cuts where it differs. Without it objects say it by the section key
    /// path of the request; of other values a list with such a key path can't be made (`usage`, in its ``SectionedFetchResults/error``).
    case values([Element], sectionName: ((Element) -> String)? = nil)
}
