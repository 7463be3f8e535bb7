import TandemModel

/// What is wrong with the objects of a save: as much of it as is of use to anyone, so that no save makes an answer without bounds.
struct ProblemList {
    /// So many bytes of text an answer has about, whatever is wrong.
    static let mostBytes = 256 << 10
    private(set) var problems: [ValidationProblem] = []
    private var bytes = 0

    var isEmpty: Bool { problems.isEmpty }
    /// Whether there is enough, and nothing more need be looked for.
    var isFull: Bool { bytes >= Self.mostBytes }

    /// Takes one more.
    mutating func append(_ problem: ValidationProblem) {
        problems.append(problem)
        bytes += problem.textBytes
    }
}

extension ValidationProblem {
    /// About the bytes that it takes.
    var textBytes: Int { 64 + message.utf8.count + (property?.utf8.count ?? 0) }
}
