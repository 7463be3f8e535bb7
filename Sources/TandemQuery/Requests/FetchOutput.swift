/// The kind of a fetch's result, as shown by `tandem explain`.
package enum FetchOutput: String, Hashable, Sendable, CaseIterable {
    /// Whole objects.
    case rows
    /// The rows of a list, or the placements of its objects if there are many.
    case list
    /// The number of objects.
    case count
    /// The ids of objects.
    case ids
    /// Some values of each object.
    case columns
    /// Aggregates of groups of objects.
    case groups
}
