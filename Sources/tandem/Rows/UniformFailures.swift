import Tandem

/// Ends an import whose first rows all fail for the same reason, which more likely indicates a
/// mistake in the command than in every row.
struct UniformFailures {
    private static let most = 1_000
    private var reason: String?
    private(set) var count = 0
    private var isOver: Bool

    /// Creates the check; with `keepsGoing` it never ends an import.
    init(_ keepsGoing: Bool) { isOver = keepsGoing }

    /// Records that a row did not fail.
    mutating func didPass() { isOver = true }

    /// Records a failure; throws ``UniformFailure`` if it is the thousandth for one reason and no
    /// row has passed.
    mutating func add(_ reason: String) throws {
        if isOver { return }
        // The rest of the text is this row's value.
        let kind =
            reason.firstRange(of: ", not ").map { String(reason[..<$0.lowerBound]) } ?? reason
        if self.reason != nil, self.reason != kind { return didPass() }
        self.reason = kind
        count += 1
        if count == Self.most { throw UniformFailure(reason: reason) }
    }
}

/// All of the first rows failed for the same reason.
struct UniformFailure: Error {
    var reason: String
}
