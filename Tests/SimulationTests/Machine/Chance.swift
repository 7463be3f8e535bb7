import TestSupport

/// A source of decisions from a seed (SplitMix64); the same seed gives the same decisions on every
/// machine.
struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Creates a separate stream for each combination of numbers, so that omitting one stream
    /// changes no other.
    init(_ parts: UInt64...) {
        state = 0
        for part in parts {
            state ^= part
            state = next()
        }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to, but not including, `end`; 0 if `end` is not positive.
    mutating func below(_ end: Int) -> Int { end > 0 ? Int(next() % UInt64(end)) : 0 }

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + below(range.count)
    }

    mutating func percent(_ share: Int) -> Bool { below(100) < share }

    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }

    mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var rest = elements
        for index in rest.indices.dropLast() {
            rest.swapAt(index, index + below(rest.count - index))
        }
        return rest
    }
}
