import ArgumentParser

/// How objects are written to and read from files.
enum TransferFormat: String, ExpressibleByArgument, CaseIterable {
    /// One JSON object a line, as `tandem fetch -o json` prints it.
    case ndjson
    /// RFC 4180, the names of the columns first; one entity a file.
    case csv
}
