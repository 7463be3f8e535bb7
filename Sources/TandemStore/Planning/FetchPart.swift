public import TandemQuery

/// What is wanted of a fetch.
public enum FetchPart: Hashable, Sendable {
    /// The rows.
    case rows
    /// The objects without their rows.
    case references
    /// How many there are.
    case count
    /// What opens a list: the rows of a few, where the objects stand of many.
    case list(ListHops)

    /// Whether it is what opens a list.
    var isList: Bool { if case .list = self { true } else { false } }
}
