import ArgumentParser

/// The value of `-n`, as in journalctl: a number of log lines, or all.
enum LineCount: Equatable {
    case all
    case last(Int)

    /// The number that `-n` without a value means.
    static let defaultCount = 10

    /// Parses `all` or a non-negative number.
    init?(argument: String) {
        if argument == "all" {
            self = .all
        } else if let number = Int(argument), number >= 0 {
            self = .last(number)
        } else {
            return nil
        }
    }

    /// Parses the value of an option; throws if it is not a count.
    static func parse(_ argument: String) throws -> LineCount {
        guard let count = LineCount(argument: argument) else {
            throw ValidationError("-n must be a non-negative number, or all")
        }
        return count
    }

    /// The number; nil for all.
    var limit: Int? { if case .last(let number) = self { number } else { nil } }
}
