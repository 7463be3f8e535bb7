import TandemResults

/// A list without the values of its rows: where each stands, and what it reaches.
enum PlacedList {
    /// One that was kept.
    case rows([ResultRow], KeptLinks)
    /// One as the daemon gives it, which is made without anything for a single row.
    case places(GatheredPlaces)

    /// What the daemon gave; nil for a list that comes from elsewhere.
    var places: GatheredPlaces? { if case .places(let places) = self { places } else { nil } }

    /// The rows; of places they are made here.
    var rows: [ResultRow] {
        switch self {
        case .rows(let rows, _): rows
        case .places(let places): places.rows
        }
    }

    /// What the rows reach; without hops if that is not known.
    var links: KeptLinks {
        switch self {
        case .rows(_, let links): links
        case .places(let places): places.kept
        }
    }
}
