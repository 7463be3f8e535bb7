import TandemModel

/// The problems of a save's objects, bounded so that no answer grows without limit.
struct ProblemList {
    /// The approximate limit on the text of an answer, in bytes.
    static let mostBytes = 256 << 10
    private(set) var problems: [ValidationProblem] = []
    private var bytes = 0

    var isEmpty: Bool { problems.isEmpty }
    /// Whether the limit is reached, so that the search for problems can stop.
    var isFull: Bool { bytes >= Self.mostBytes }

    /// Appends a problem.
    mutating func append(_ problem: ValidationProblem) {
        problems.append(problem)
        bytes += problem.textBytes
    }
}

extension ValidationProblem {
    /// The approximate number of bytes of the problem.
    var textBytes: Int { 64 + message.utf8.count + (property?.utf8.count ?? 0) }
}
