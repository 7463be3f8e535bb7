import FoundationEssentials

/// The size limits up to which debug builds verify invariants of a whole structure.
enum Invariants {
    /// Whether `TANDEM_VERIFY=1` is set, as in all tests.
    private static let areVerified =
        ProcessInfo.processInfo.environment["TANDEM_VERIFY"] == "1"

    /// Returns whether all of a structure's `count` elements are verified after a change.
    ///
    /// The limit keeps tests of long lists fast.
    static func walk(_ count: Int, upTo most: Int = 100) -> Bool { areVerified && count <= most }
}
