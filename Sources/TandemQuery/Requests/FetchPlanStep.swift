/// One access path of a fetch plan, as shown by `tandem explain`.
///
/// The steps of a plan are its tree in preorder: the parts of a step follow it, one level deeper
/// (``depth``). A union has several parts. A step of kind ``Access/related`` has one part: the plan
/// that finds the related objects.
package struct FetchPlanStep: Hashable, Sendable {
    /// The source of the candidates.
    package enum Access: String, Hashable, Sendable, CaseIterable {
        /// All rows of the entity.
        case scan
        /// Ranges of an index.
        case index
        /// Unique keys.
        case unique
        /// The members of a to-many relationship: the inverse of a relationship in the predicate.
        case inverse
        /// The objects whose relationship refers to an object found by the step's part.
        case related
        /// The distinct objects found by any of the parts.
        case union
    }

    /// The entity of the candidates.
    package var entity: String
    /// The source of the candidates.
    package var access: Access
    /// The properties of the index or unique key, or the relationship.
    package var properties: [String]
    /// The number of index ranges, unique keys or parts of a union; 0 for the other access paths.
    package var ranges: Int
    /// Whether every candidate matches, so that the predicate need not be evaluated.
    package var findsOnlyMatches: Bool
    /// Whether candidates are found in the request's order, so that the read can end at the limit.
    package var isOrdered: Bool
    /// The number of steps above this one in the tree.
    package var depth: Int
    /// Whether the answer is made from keys alone, without reading rows.
    ///
    /// A read of the past still evaluates the rows that changed after its position.
    package var needsOnlyKeys: Bool

    /// Creates a step.
    package init(
        entity: String, access: Access, properties: [String] = [], ranges: Int = 0,
        findsOnlyMatches: Bool = false, isOrdered: Bool = false, depth: Int = 0,
        needsOnlyKeys: Bool = false
    ) {
        self.entity = entity
        self.access = access
        self.properties = properties
        self.ranges = ranges
        self.findsOnlyMatches = findsOnlyMatches
        self.isOrdered = isOrdered
        self.depth = depth
        self.needsOnlyKeys = needsOnlyKeys
    }
}
