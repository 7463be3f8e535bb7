import TandemResults

/// The placements and links of a list's rows, without the values.
enum PlacementList {
    /// A list read from a cache.
    case rows([ResultRow], CachedLinks)
    /// A list received from the daemon, without an allocation for each row.
    case placements(ReceivedPlacements)

    /// The placements received from the daemon; nil for a cached list.
    var placements: ReceivedPlacements? {
        if case .placements(let placements) = self { placements } else { nil }
    }

    /// The rows; they are created from placements if necessary.
    var rows: [ResultRow] {
        switch self {
        case .rows(let rows, _): rows
        case .placements(let placements): placements.rows
        }
    }

    /// The links of the rows; `hopCount` is 0 if the links are unknown.
    var links: CachedLinks {
        switch self {
        case .rows(_, let links): links
        case .placements(let placements): placements.cachedLinks
        }
    }
}
