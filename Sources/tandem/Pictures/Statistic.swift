import ArgumentParser

/// What `tandem log --stats` counts by.
enum Statistic: String, CaseIterable {
    case entity
    case author
    case property
    case size
}

/// The value of `--stats`, which may be left out.
///
/// What looks like a match is none, so that `log --stats author=setup` counts what the match finds.
struct StatisticArgument: ExpressibleByArgument, CustomStringConvertible {
    let name: String

    init?(argument: String) {
        guard !MatchField.isMatch(argument) else { return nil }
        name = argument
    }

    /// Nothing: the help has no room for what stands for a value that was left out.
    var description: String { "" }

    /// Names are looked up late, where a wrong one can be told from none.
    var statistic: Statistic? { Statistic(rawValue: name) }

    /// What stands for a value that was left out.
    static let unnamed = StatisticArgument(.entity)

    private init(_ statistic: Statistic) { name = statistic.rawValue }
}

extension MatchField {
    /// Whether a word of the command line is a match: `author=setup`.
    static func isMatch(_ word: String) -> Bool {
        guard let sign = word.firstIndex(of: "=") else { return false }
        return MatchField(rawValue: String(word[..<sign])) != nil
    }
}
