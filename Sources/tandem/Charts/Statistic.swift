import ArgumentParser

/// The attribute by which `tandem log --stats` counts.
enum Statistic: String, CaseIterable {
    case entity
    case author
    case property
    case size
}

/// The optional value of `--stats`.
///
/// A match is not parsed as the value, so that `log --stats author=setup` counts the matching
/// transactions.
struct StatisticArgument: ExpressibleByArgument, CustomStringConvertible {
    let name: String

    init?(argument: String) {
        guard !MatchField.isMatch(argument) else { return nil }
        name = argument
    }

    /// Empty, so that the help does not print a default value, for which it has no room.
    var description: String { "" }

    /// The statistic with this name; nil for an unknown name, which is reported after parsing.
    var statistic: Statistic? { Statistic(rawValue: name) }

    /// The argument for `--stats` without a value.
    static let unnamed = StatisticArgument(.entity)

    private init(_ statistic: Statistic) { name = statistic.rawValue }
}

extension MatchField {
    /// Returns whether a word of the command line is a match, such as `author=setup`.
    static func isMatch(_ word: String) -> Bool {
        guard let sign = word.firstIndex(of: "=") else { return false }
        return MatchField(rawValue: String(word[..<sign])) != nil
    }
}
