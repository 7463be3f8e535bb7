/// One step of how a fetch is carried out: what `tandem explain` shows.
///
/// The first step gives the candidates. One that goes back over a relationship has a step behind it, which finds the objects that it goes
/// back from, a union has a step behind it for each of its parts, and a scan may have one for the index that puts its rows in order.
public struct FetchPlanStep: Hashable, Sendable {
    /// Where candidates come from.
    public enum Access: String, Hashable, Sendable, CaseIterable {
        /// All rows of the entity.
        case scan
        /// Parts of an index.
        case index
        /// Unique keys.
        case unique
        /// The members of a to-many relationship, the other end of the to-one that is asked for.
        case inverse
        /// The other end of a relationship, from each object that the next step finds.
        case related
        /// All that the steps behind it lead to, each once.
        case union
    }

    /// The entity of the candidates.
    public var entity: String
    /// Where they come from.
    public var access: Access
    /// The properties of the index or unique key, or the relationship.
    public var properties: [String]
    /// How many parts of the index are read, unique keys are looked up, or a union has; 0 for the others.
    public var ranges: Int
    /// Whether this alone says which objects match, so that the predicate is not evaluated.
    public var decides: Bool
    /// Whether candidates come in the request's order, so that a limit ends it early.
    public var isOrdered: Bool

    /// A step of the given parts.
    public init(
        entity: String, access: Access, properties: [String] = [], ranges: Int = 0,
        decides: Bool = false, isOrdered: Bool = false
    ) {
        self.entity = entity
        self.access = access
        self.properties = properties
        self.ranges = ranges
        self.decides = decides
        self.isOrdered = isOrdered
    }
}
