/// The Unicode tables with which this program folds and orders texts, provided by its Swift
/// version.
///
/// Persistent data with folded texts is stamped with the version, and rebuilt by a program with
/// different tables. Two versions differ only in characters that the older one lacks: Unicode
/// guarantees stable folding and digit values for all other characters.
package enum UnicodeTables {
    /// The version, such as `16.0`: the age of the newest character.
    ///
    /// Swift does not provide the version, so the first access scans all planes with characters,
    /// which takes a few milliseconds.
    package static let version: String = {
        var newest: (major: Int, minor: Int) = (0, 0)
        for plane in planes {
            // Not a `for` loop, because a range's iterator costs more than the lookup in
            // unoptimized builds.
            var value = plane.lowerBound
            while value <= plane.upperBound {
                if let age = Unicode.Scalar(value)?.properties.age,
                    age.major > newest.major
                        || age.major == newest.major && age.minor > newest.minor
                {
                    newest = age
                }
                value += 1
            }
        }
        return "\(newest.major).\(newest.minor)"
    }()

    /// The planes to scan; private-use and empty planes are omitted.
    private static let planes: [ClosedRange<UInt32>] = [0...0x3_ffff, 0xe_0000...0xe_0fff]
}
