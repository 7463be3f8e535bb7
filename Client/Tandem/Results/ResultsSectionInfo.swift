public import TandemModel

/// A section of a results controller: its name and the objects in it, in order.
public struct FetchedResultsSection: Hashable, Sendable {
    /// The value of the section key path as text; `""` for none.
    public var name: String
    /// The objects, in order.
    public var objectIDs: [ObjectID]

    /// The title for an index beside the list: the upper-cased first character of the name, `""` for `""`.
    public var indexTitle: String { FetchedResultsSection.indexTitle(of: name) }

    static func indexTitle(of name: String) -> String {
        name.first.map { String($0).uppercased() } ?? ""
    }

    /// How many objects there are.
    public var numberOfObjects: Int { objectIDs.count }

    /// A section of the given name and objects.
    public init(name: String, objectIDs: [ObjectID]) {
        self.name = name
        self.objectIDs = objectIDs
    }
}
