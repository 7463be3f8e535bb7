import ArgumentParser

/// How many lines of a log are wanted, as journalctl takes it: a number, or all.
enum LineCount: Equatable {
    case all
    case last(Int)

    /// What `-n` alone means.
    static let usual = 10

    /// Reads `all` or a number that is not negative.
    init?(argument: String) {
        if argument == "all" {
            self = .all
        } else if let number = Int(argument), number >= 0 {
            self = .last(number)
        } else {
            return nil
        }
    }

    /// The same for an option; throws for what is no count.
    static func counted(_ argument: String) throws -> LineCount {
        guard let count = LineCount(argument: argument) else {
            throw ValidationError("-n takes a number from 0 on, or all")
        }
        return count
    }

    /// The number; nil for all.
    var limit: Int? { if case .last(let number) = self { number } else { nil } }
}
