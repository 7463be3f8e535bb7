import FoundationEssentials

/// The limits within which debug builds verify invariants that require a walk over a whole
/// structure.
enum Invariants {
    /// Whether `TANDEM_VERIFY=1` is set, as in all tests.
    private static let areVerified =
        ProcessInfo.processInfo.environment["TANDEM_VERIFY"] == "1"

    /// Returns whether a structure of `count` elements is verified as a whole after a change.
    ///
    /// The limit keeps tests of long lists fast.
    static func walk(_ count: Int, upTo most: Int = 100) -> Bool { areVerified && count <= most }
}
