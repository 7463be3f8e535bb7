/// Which tables of Unicode this program folds and orders texts by: those of the Swift it was built with.
///
/// What is kept over the end of a program and holds folded texts is stamped with the version, and made anew by a program of other
/// tables. Between two versions only characters differ that the older one does not have: folding and digits of all others are stable
/// by Unicode's own rules.
public enum UnicodeTables {
    /// The version, such as `16.0`: the newest age of any character.
    ///
    /// Swift does not say it, so the first access looks through the planes that have characters, in some milliseconds.
    public static let version: String = {
        var newest: (major: Int, minor: Int) = (0, 0)
        for plane in planes {
            // Not a `for`: without optimization, a range's iterator costs more than the look-up.
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

    /// Private use and planes without characters have nothing to tell.
    private static let planes: [ClosedRange<UInt32>] = [0...0x3_ffff, 0xe_0000...0xe_0fff]
}
