/// One component of a sort order.
public struct SortKey: Hashable, Sendable {
    /// How two values are compared.
    public enum Selector: UInt8, Hashable, Sendable, CaseIterable {
        /// By number, text by code point.
        case compare
        /// Text after full Unicode case folding.
        case caseInsensitiveCompare
    }

    /// What is compared: an attribute, perhaps through to-one relationships.
    public var keyPath: String
    /// Whether small comes first; nil is smaller than everything.
    public var ascending: Bool
    /// How two values are compared.
    public var selector: Selector

    /// A component over a key path.
    public init(_ keyPath: String, ascending: Bool, selector: Selector = .compare) {
        self.keyPath = keyPath
        self.ascending = ascending
        self.selector = selector
    }

    /// An ascending component with a selector.
    public init(_ keyPath: String, selector: Selector) {
        self.init(keyPath, ascending: true, selector: selector)
    }

    /// Parses `name` or, for descending, `-name`; nil when there is no name.
    public init?(_ description: String) {
        let descending = description.utf8.first == UInt8(ascii: "-")
        let path = descending ? String(description.dropFirst()) : description
        guard !path.isEmpty else { return nil }
        self.init(path, ascending: !descending)
    }
}

extension SortKey: ExpressibleByStringLiteral {
    /// A component written as a literal: `"name"`, or `"-wins"` for descending.
    ///
    /// A literal without a name traps.
    public init(stringLiteral value: String) {
        guard let key = SortKey(value) else {
            preconditionFailure("A sort key needs the name of a property.")
        }
        self = key
    }
}

/// What to fetch: the objects of an entity that match a predicate, in an order.
///
/// Ties, and everything if there are no sort keys, are ordered by object number.
public struct FetchRequest: Hashable, Sendable {
    /// The entity's name.
    public var entity: String
    /// The condition; nil matches everything.
    public var predicate: ObjectPredicate?
    /// The order.
    public var sort: [SortKey]
    /// At most this many; nil for all.
    ///
    /// A results controller with a limit or an offset takes O(limit + offset) for every merge that changes its list.
    public var limit: Int?
    /// How many of the first to leave out.
    public var offset: Int
    /// Whether objects of entities that inherit from ``entity`` count.
    public var includesSubentities: Bool

    /// A request for objects of an entity.
    public init(
        entity: String, predicate: ObjectPredicate? = nil, sort: [SortKey] = [],
        limit: Int? = nil, offset: Int = 0, includesSubentities: Bool = true
    ) {
        self.entity = entity
        self.predicate = predicate
        self.sort = sort
        self.limit = limit
        self.offset = offset
        self.includesSubentities = includesSubentities
    }
}
