import TandemModel

/// Says of most numbers that are not in a set that they are not, by a look at one bit.
///
/// A Bloom filter with one hash function (Bloom 1970): its bits are at least eight times as many as numbers, so that at most one in
/// eight that is not there may seem to be. What is taken out stays until the filter is made anew. Numbers are given out one after
/// the other, which multiplying by the golden ratio scatters evenly (Knuth, The Art of Computer Programming 3, 6.4).
///
///     guard filter.mayHold(number) else { return nil }
///     return table[number]
struct NumberFilter {
    /// Empty until there is a number.
    private var words: [UInt64] = []
    /// How many numbers it took in.
    private var count = 0
    /// How far a product is shifted to be the place of a bit.
    private var shift: UInt64 = 63

    /// The filter of no numbers.
    init() {}

    /// The filter of some numbers, with room for as many again.
    init(_ numbers: some Collection<ObjectNumber>) {
        guard !numbers.isEmpty else { return }
        let bits = max(1_024, (numbers.count * 16).roundedUpToPowerOfTwo)
        words = Array(repeating: 0, count: bits / 64)
        shift = UInt64(64 - bits.trailingZeroBitCount)
        for number in numbers { insert(number) }
    }

    /// Whether it has to be made anew before it takes in another number.
    var isFull: Bool { count * 8 >= words.count * 64 }

    /// Whether a number may be in the set; false is certain.
    @inline(__always)
    func mayHold(_ number: ObjectNumber) -> Bool {
        if words.isEmpty { return false }
        let bit = bit(number)
        return words[bit / 64] & (1 &<< UInt64(bit % 64)) != 0
    }

    /// Takes in a number; the filter must not be full.
    mutating func insert(_ number: ObjectNumber) {
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
    /// The least power of two that is not below; for positive numbers that are not near the largest one.
    fileprivate var roundedUpToPowerOfTwo: Int {
        1 << (bitWidth - (self - 1).leadingZeroBitCount)
    }
}
