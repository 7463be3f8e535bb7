public import TandemModel

/// A section of a results controller: its name and the objects in it, in order.
public struct FetchedResultsSection: Hashable, Sendable {
    /// The value of the section key path as text; `""` if there is none.
    public var name: String
    /// The objects, in order.
    public var objectIDs: [ObjectID]

    /// The title for a section index: the upper-cased first character of the name (`""` for an
    /// empty name).
    public var indexTitle: String { FetchedResultsSection.indexTitle(of: name) }

    static func indexTitle(of name: String) -> String {
        name.first.map { String($0).uppercased() } ?? ""
    }

    /// The number of objects.
    public var numberOfObjects: Int { objectIDs.count }

    /// Creates a section.
    public init(name: String, objectIDs: [ObjectID]) {
        self.name = name
        self.objectIDs = objectIDs
    }
}
