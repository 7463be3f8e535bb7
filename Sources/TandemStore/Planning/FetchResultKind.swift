package import TandemQuery

/// The kind of result that a fetch returns.
package enum FetchResultKind: Hashable, Sendable {
    /// The rows.
    case rows
    /// References to the objects, without their rows.
    case references
    /// The number of objects.
    case count
    /// The content of a list that is being opened: rows if there are few objects, placements if
    /// there are many.
    case list(ListHops)

    /// Whether the result is the content of a list.
    var isList: Bool { if case .list = self { true } else { false } }
}
