import ArgumentParser

/// The format in which a verb prints its result.
enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    /// Text for human readers.
    case short
    /// One JSON object per line.
    case json
}
