package import TestSupport

/// The seeds of random worlds: from `TANDEM_SEED`, or the same in every run; `TANDEM_WORLDS` sets
/// their number.
package enum Seed {
    package static func worlds(_ usual: Int, deep: Int) -> Int {
        Volume.variable("TANDEM_WORLDS", or: usual, deep: deep)
    }

    package static func value(_ run: Int) -> UInt64 {
        TestSeed.printed((TestSeed.given ?? 42) &+ UInt64(run))
    }
}

package typealias SplitMix = SplitMix64

extension SplitMix64 {
    package init(_ seed: UInt64) { self.init(seed: seed) }

    /// Returns the next number below `bound`.
    package mutating func next(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
