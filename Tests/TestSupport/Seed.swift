import Glibc
package import TandemIO

/// The seed of randomized tests: `TANDEM_SEED`, or a fixed value if that is not set.
package let seed = TestSeed.value(or: 20_261_121)

/// Seeds of randomized tests.
package enum TestSeed {
    /// The value of `TANDEM_SEED`, or nil if it is not set.
    package static let given = ThisProcess.environment("TANDEM_SEED").flatMap { UInt64($0) }

    /// Returns `TANDEM_SEED` if it is set, otherwise `preset`, and prints the result.
    package static func value(or preset: @autoclosure () -> UInt64) -> UInt64 {
        printed(given ?? preset())
    }

    /// Prints a seed and returns it.
    ///
    /// The runner uses the printed seed if a failure's message does not name one.
    package static func printed(_ seed: UInt64) -> UInt64 {
        print("TANDEM_SEED=\(seed)")
        fflush(nil)
        return seed
    }

}

/// The volume of a test's work: small in `make test`, larger in `make check`.
package enum Volume {
    /// Whether `TANDEM_DEEP` is set, as in `make check`.
    package static let isDeep = ThisProcess.environment("TANDEM_DEEP") != nil

    /// Returns `usual`, or `deep` if `TANDEM_DEEP` is set.
    package static func of<Value>(_ usual: Value, deep: Value) -> Value { isDeep ? deep : usual }

    /// Returns the number in an environment variable, or the result of `of(_:deep:)` if it is not
    /// set.
    package static func variable(_ name: String, or usual: Int, deep: Int) -> Int {
        ThisProcess.environment(name).flatMap { Int($0) } ?? of(usual, deep: deep)
    }
}

/// SplitMix64: a small seeded generator with the same results on every platform.
package typealias SplitMix64 = SeededGenerator
