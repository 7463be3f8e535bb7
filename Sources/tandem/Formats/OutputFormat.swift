import ArgumentParser

/// How a verb prints what it found.
enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    /// For people.
    case short
    /// For people who want everything.
    case verbose
    /// One JSON object a line.
    case json
}
