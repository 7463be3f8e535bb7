/// Which positions each sealed segment of a journal holds, as it was at one moment.
///
/// What was given up since is still in it: whoever opens a file of it finds it gone.
struct SealedSegments {
    /// Where each segment begins, oldest first, the one that is not sealed last.
    private let firsts: [UInt64]

    /// The segments that begin at these positions, in order; the last is not sealed.
    init(_ firsts: [UInt64]) { self.firsts = firsts }

    /// The positions of the sealed segment that holds one; nil where none does.
    func positions(holding position: UInt64) -> Range<UInt64>? {
        var (low, high) = (0, firsts.count)
        while low < high {
            let middle = low + (high - low) / 2
            if firsts[middle] <= position { low = middle + 1 } else { high = middle }
        }
        guard low > 0, low < firsts.count else { return nil }
        return firsts[low - 1]..<firsts[low]
    }
}
