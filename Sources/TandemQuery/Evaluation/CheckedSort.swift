/// A sort that calls a check periodically, so that a long sort can be paused or ended.
///
/// The interval spans the sorts of one value, so that many short sorts are checked too.
package struct CheckedSort {
    /// The number of comparisons since the last check.
    @usableFromInline var comparisons = 0

    /// The number of comparisons between two checks, about a millisecond.
    @inlinable package static var interval: Int { 1 << 16 }

    /// Creates a sort that has made no comparisons.
    @inlinable package init() {}

    /// Sorts elements; throws the errors of the check, with the elements in any order.
    @inlinable
    package mutating func sort<Elements, Failure>(
        _ elements: inout Elements,
        by precedes: (Elements.Element, Elements.Element) -> Bool,
        _ check: () throws(Failure) -> Void
    ) throws(Failure) where Elements: MutableCollection & RandomAccessCollection, Failure: Error {
        var comparisons = comparisons
        defer { self.comparisons = comparisons }
        do {
            try elements.sort { a, b in
                comparisons += 1
                if comparisons == Self.interval {
                    comparisons = 0
                    try check()
                }
                return precedes(a, b)
            }
        } catch let error as Failure {
            throw error
        } catch {
            preconditionFailure("Only the check throws: \(error).")
        }
    }
}
