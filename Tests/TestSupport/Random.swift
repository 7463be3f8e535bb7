import FoundationEssentials

/// The seed of a random test: given by TANDEM_SEED, or fixed by the run; TANDEM_WORLDS asks for that many runs.
package enum Seed {
    package static func worlds(_ usual: Int) -> Int {
        ProcessInfo.processInfo.environment["TANDEM_WORLDS"].flatMap { Int($0) } ?? usual
    }

    package static func value(_ run: Int) -> UInt64 {
        let given = ProcessInfo.processInfo.environment["TANDEM_SEED"].flatMap { UInt64($0) }
        return (given ?? 42) &+ UInt64(run)
    }
}

/// SplitMix64, the same everywhere.
package struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    package mutating func next(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
