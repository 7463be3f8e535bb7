import ArgumentParser

/// How many lines of a log are wanted, as journalctl takes it: a number, or all.
enum LineCount: ExpressibleByArgument, Equatable {
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

    /// The number; nil for all.
    var limit: Int? { if case .last(let number) = self { number } else { nil } }
}
