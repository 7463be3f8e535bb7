import ArgumentParser

/// The attribute by which `tandem log --stats` counts.
enum Statistic: String, CaseIterable {
    case entity
    case author
    case property
    case size
}

/// The value of `--stats`, which may be omitted.
///
/// A match is not accepted, so that `log --stats author=setup` counts the matching transactions.
struct StatisticArgument: ExpressibleByArgument, CustomStringConvertible {
    let name: String

    init?(argument: String) {
        guard !MatchField.isMatch(argument) else { return nil }
        name = argument
    }

    /// Empty, because the help has no room for the value that is used if none is given.
    var description: String { "" }

    /// The statistic with this name; nil for an unknown name, which is reported after parsing.
    var statistic: Statistic? { Statistic(rawValue: name) }

    /// The value if none is given.
    static let unnamed = StatisticArgument(.entity)

    private init(_ statistic: Statistic) { name = statistic.rawValue }
}

extension MatchField {
    /// Returns whether a word of the command line is a match: `author=setup`.
    static func isMatch(_ word: String) -> Bool {
        guard let sign = word.firstIndex(of: "=") else { return false }
        return MatchField(rawValue: String(word[..<sign])) != nil
    }
}
