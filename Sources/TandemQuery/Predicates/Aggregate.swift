/// An aggregate over the distinct objects of a collection; nil values are ignored.
package enum Aggregate: String, Hashable, Sendable, CaseIterable {
    /// The number of objects.
    case count
    /// The sum; 0 if there are no values.
    case sum
    /// The smallest value; nil if there are no values.
    case min
    /// The largest value; nil if there are no values.
    case max
    /// The arithmetic mean, a double; nil if there are no values.
    case avg
}
