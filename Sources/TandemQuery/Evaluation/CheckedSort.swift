/// A sort that calls a check periodically, so that a long sort can be paused or cancelled.
///
/// Comparisons are counted across all sorts of a value, so that many short sorts are checked as
/// well.
@usableFromInline package struct CheckedSort {
    /// The number of comparisons since the last check.
    @usableFromInline var comparisons = 0

    /// The number of comparisons between two checks, which take about a millisecond.
    @inlinable package static var interval: Int { 1 << 16 }

    /// The number of elements up to which a sort is not interrupted by a check.
    @inlinable package static var uncheckedElements: Int { 1 << 14 }

    /// Creates a sort that has made no comparisons.
    @inlinable package init() {}

    /// Sorts elements; throws the errors of the check, leaving the elements in an unspecified
    /// order.
    ///
    /// Inlinable, because the compiler otherwise does not specialize the method for another
    /// module's elements, and sorting takes three times as long.
    @inlinable
    package mutating func sort<Elements, Failure>(
        _ elements: inout Elements,
        by precedes: (Elements.Element, Elements.Element) -> Bool,
        _ check: () throws(Failure) -> Void
    ) throws(Failure) where Elements: MutableCollection & RandomAccessCollection, Failure: Error {
        let count = elements.count
        guard count > Self.uncheckedElements else {
            // Counting comparisons would cost as much as the comparisons themselves.
            elements.sort(by: precedes)
            comparisons += count * (Int.bitWidth - count.leadingZeroBitCount)
            guard comparisons >= Self.interval else { return }
            comparisons = 0
            return try check()
        }
        var comparisons = comparisons
        defer { self.comparisons = comparisons }
        do {
            try elements.sort { a, b in
                comparisons += 1
                if comparisons >= Self.interval {
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
