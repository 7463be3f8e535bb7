import Tandem

/// Ends an import whose first 1,000 rows all fail for the same reason, because a mistake in the
/// command is more likely than a mistake in every row.
struct UniformFailures {
    private static let most = 1_000
    /// The file or entity of the rows; empty for a file whose rows may have any entity.
    private let name: String
    private var reason: String?
    private(set) var count = 0
    /// Whether the check can no longer end the import, because it ignores further rows.
    private(set) var isDisabled: Bool

    /// Creates the check for the rows of a file or entity; with `keepsGoing`, the check never ends
    /// the import.
    init(_ keepsGoing: Bool, of name: String = "") {
        isDisabled = keepsGoing
        self.name = name
    }

    /// Records that a row did not fail.
    mutating func didPass() { isDisabled = true }

    /// Records a failure; throws ``UniformFailure`` for the thousandth failure if all failures have
    /// the same reason and no row has passed.
    mutating func add(_ reason: String) throws {
        if isDisabled { return }
        // The text after ", not " is the value of this row.
        let kind =
            reason.firstRange(of: ", not ").map { String(reason[..<$0.lowerBound]) } ?? reason
        if self.reason != nil, self.reason != kind { return didPass() }
        self.reason = kind
        count += 1
        if count == Self.most { throw UniformFailure(name: name, reason: reason) }
    }
}

/// All of the first rows failed for the same reason.
struct UniformFailure: Error {
    /// The file or entity of the rows, or empty.
    var name: String
    var reason: String

    var message: String {
        let owner = name.isEmpty ? "" : " of \(name)"
        return "the first 1,000 rows\(owner) all fail: \(RejectFile.shortened(reason))"
    }
}
