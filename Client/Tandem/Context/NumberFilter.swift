import TandemModel

/// A Bloom filter with one hash function over object numbers.
///
/// The filter (Bloom 1970) has at least eight bits for each number, so at most one in eight absent
/// numbers is reported as possibly present. Removed numbers stay in the filter until it is rebuilt.
/// Object numbers are assigned sequentially; multiplying by the golden ratio scatters them evenly
/// (Knuth, The Art of Computer Programming 3, 6.4).
///
///     guard filter.mayHold(number) else { return nil }
///     return table[number]
struct NumberFilter {
    /// The bits; empty if no number was inserted.
    private var words: [UInt64] = []
    /// The number of insertions.
    private var count = 0
    /// The number of bits by which a product is shifted to get the index of a bit.
    private var shift: UInt64 = 63

    /// Creates an empty filter.
    init() {}

    /// Creates a filter that contains these numbers and has capacity for at least as many more.
    init(_ numbers: some Collection<ObjectNumber>) {
        guard !numbers.isEmpty else { return }
        let bits = max(1_024, (numbers.count * 16).roundedUpToPowerOfTwo)
        words = Array(repeating: 0, count: bits / 64)
        shift = UInt64(64 - bits.trailingZeroBitCount)
        for number in numbers { insert(number) }
    }

    /// Whether the filter has to be rebuilt before another number is inserted.
    var isFull: Bool { count * 8 >= words.count * 64 }

    /// Returns whether a number may be in the set; false is certain.
    @inline(__always)
    func mayHold(_ number: ObjectNumber) -> Bool {
        if words.isEmpty { return false }
        let bit = bit(number)
        return words[bit / 64] & (1 &<< UInt64(bit % 64)) != 0
    }

    /// Inserts a number; the filter must not be full.
    mutating func insert(_ number: ObjectNumber) {
        assert(!isFull, "A full filter is rebuilt before the next number is inserted.")
        let bit = bit(number)
        words[bit / 64] |= 1 &<< UInt64(bit % 64)
        count += 1
    }

    @inline(__always)
    private func bit(_ number: ObjectNumber) -> Int {
        Int((number &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }
}

extension Int {
    /// The smallest power of two that is not less than this number, which must be positive and not
    /// near the maximum.
    fileprivate var roundedUpToPowerOfTwo: Int {
        assert(self > 0 && self < 1 << (bitWidth - 2), "Only such a number can be rounded up.")
        return 1 << (bitWidth - (self - 1).leadingZeroBitCount)
    }
}
