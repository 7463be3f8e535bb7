import Glibc
package import TandemIO

/// The seed of randomized tests: `TANDEM_SEED`, or the same in every run.
package let seed = TestSeed.value(or: 20_261_121)

/// Seeds of randomized tests.
package enum TestSeed {
    /// The value of `TANDEM_SEED`; nil if it is not set.
    package static let given = ThisProcess.environment("TANDEM_SEED").flatMap { UInt64($0) }

    /// Returns `TANDEM_SEED` if it is set, else `preset`, and prints the result.
    package static func value(or preset: @autoclosure () -> UInt64) -> UInt64 {
        printed(given ?? preset())
    }

    /// Prints a seed and returns it.
    ///
    /// The runner takes the seed from there if the message of a failure does not name it.
    package static func printed(_ seed: UInt64) -> UInt64 {
        print("TANDEM_SEED=\(seed)")
        fflush(nil)
        return seed
    }

}

/// How much a test does: little in `make test`, more in `make check`.
package enum Volume {
    /// `TANDEM_DEEP` is set, as `make check` does.
    package static let isDeep = ThisProcess.environment("TANDEM_DEEP") != nil

    /// Returns `usual`, or `deep` if `TANDEM_DEEP` is set.
    package static func of<Value>(_ usual: Value, deep: Value) -> Value { isDeep ? deep : usual }

    /// Returns the number that a variable has, else as `of(_:deep:)`.
    package static func variable(_ name: String, or usual: Int, deep: Int) -> Int {
        ThisProcess.environment(name).flatMap { Int($0) } ?? of(usual, deep: deep)
    }
}

/// SplitMix64: small, seeded, the same everywhere.
package typealias SplitMix64 = SeededGenerator
