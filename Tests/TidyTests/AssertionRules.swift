/// The modules whose invariants are asserted in code: each must have a minimum number of
/// assertions.
enum AssertionRules {
    static let places = [
        "Sources/TandemJournal", "Sources/TandemStore", "Sources/TandemResults",
        "Daemon/TandemDaemon/Committer",
    ]
    /// The minimum number of assertions per 1,000 lines of a place.
    static let leastDensity = 8.0

    private static let calls = [
        "assert", "assertionFailure", "precondition", "preconditionFailure", "verify",
        "checkInvariants",
    ].map { $0 + "(" }

    /// Returns a finding for each place with fewer assertions.
    static func sparse(_ files: [SourceFile]) -> [Finding] {
        places.compactMap { place in
            let files = files.filter { $0.path.hasPrefix(place + "/") }
            let lines = files.reduce(0) { $0 + $1.lines.count }
            let assertions = files.reduce(0) { $0 + $1.code.reduce(0) { $0 + count(in: $1) } }
            let density = 1_000 * Double(assertions) / Double(max(lines, 1))
            guard density < leastDensity else { return nil }
            return Finding(
                path: place, line: nil,
                message:
                    "\(assertions) assertions in \(lines) lines are fewer than "
                    + "\(Int(leastDensity)) per 1,000")
        }
    }

    /// Returns the number of assertions in a line of code; methods of other names don't count.
    private static func count(in line: String) -> Int {
        calls.reduce(0) { sum, call in
            sum
                + line.ranges(of: call).count { range in
                    let last = line[..<range.lowerBound].last
                    return last.map { !$0.isLetter && !$0.isNumber && $0 != "_" } ?? true
                }
        }
    }
}
