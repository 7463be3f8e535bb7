import ArgumentParser

/// The format of exported and imported objects.
enum TransferFormat: String, ExpressibleByArgument, CaseIterable {
    /// One JSON object per line, as printed by `tandem fetch -o json`.
    case ndjson
    /// CSV according to RFC 4180, with column names in the first line; one entity per file.
    case csv
}
