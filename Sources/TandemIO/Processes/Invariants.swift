/// The limits within which debug builds verify invariants that require walking a whole structure.
package enum Invariants {
    /// The largest size at which a structure is walked after each change.
    private static let mostWalked = 1_000

    /// Whether `TANDEM_VERIFY=1` is set, as in all tests.
    private static let areVerified = ThisProcess.environment("TANDEM_VERIFY") == "1"

    /// Returns whether a structure of `count` elements is walked.
    package static func walk(_ count: Int) -> Bool { areVerified && count <= mostWalked }
}
