import Algorithms
import TandemIO

/// The positions of each sealed segment of a journal at one moment.
///
/// Segments that were removed later are still listed; opening their files fails.
struct SealedSegments {
    /// The first position of each segment, oldest first; the last segment is not sealed.
    private let firsts: [UInt64]

    /// Creates the list of segments with these first positions, in order; the last is not sealed.
    init(_ firsts: [UInt64]) {
        assert(
            !Invariants.walk(firsts.count)
                || zip(firsts, firsts.dropFirst()).allSatisfy { $0 < $1 },
            "The first positions of segments ascend.")
        self.firsts = firsts
    }

    /// Returns the positions of the sealed segment that contains a position, or nil if there is
    /// none.
    func positions(holding position: UInt64) -> Range<UInt64>? {
        let next = firsts.partitioningIndex { $0 > position }
        guard next > 0, next < firsts.count else { return nil }
        return firsts[next - 1]..<firsts[next]
    }
}
